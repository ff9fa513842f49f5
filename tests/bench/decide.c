/*
 * decide - what one verdict costs with 100,000 host rules.
 *
 * Prints the median and the 99th percentile of single questions about names
 * that some rule allows, about names that none does, and about names below a
 * wildcard; each in nanoseconds, the clock's own cost included and told.
 */
#include "policy/decide.h"
#include "policy/document.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	RULES = 100000,
	SAMPLES = 200000,
	PERCENTILE_99 = SAMPLES / 100 * 99
};

static int64_t
now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
		abort();
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Short, so that so many fit into the largest document. */
static struct policy *
make_policy(void)
{
	size_t size = LIMIT_POLICY_BYTES;
	char *text = malloc(size);
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	struct cursor_writer out;

	if (text == NULL)
		abort();
	out = cursor_writer_of(text, size);
	cursor_put_text(&out, "{\"version\":1,\"rules\":[");
	for (unsigned i = 0; i < RULES; i++) {
		char rule[80];

		if (snprintf(rule, sizeof(rule),
			"%s{\"id\":\"%x\",\"host\":[\"%s%x.test\"]}",
			i == 0 ? "" : ",", i, i % 10 == 0 ? "*.s" : "h",
			i) >= (int)sizeof(rule))
			abort();
		cursor_put_text(&out, rule);
	}
	cursor_put_text(&out, "]}");
	if (!cursor_written(&out) ||
	    document_load(cursor_of(text, out.used), "bench", &policy,
		&problems) != STATUS_OK)
		abort();
	free(text);
	return policy;
}

static void
measure(const struct policy *policy, const char *what, const char *prefix,
    unsigned step)
{
	int64_t *samples = calloc(SAMPLES, sizeof(*samples));
	struct facts facts = { .stage = STAGE_REQUEST,
		.last = true,
		.by_name = true,
		.port = 443,
		.protocol = FACT_PROTOCOL_HTTP,
		.method = "GET" };
	unsigned at = 0;

	if (samples == NULL)
		abort();
	for (size_t i = 0; i < SAMPLES; i++) {
		struct verdict verdict;
		char name[64];
		int length;
		int64_t start;

		/* Far apart, so that no cache has the last one's lines. */
		at = (at + 7919 * step) % RULES;
		length = snprintf(name, sizeof(name), "%s%x.test", prefix, at);
		if (length < 0 || hostname_parse(name, (size_t)length,
				      &facts.host) != STATUS_OK)
			abort();
		start = now_ns();
		policy_decide(policy, &facts, NULL, NULL, &verdict);
		samples[i] = now_ns() - start;
	}
	qsort(samples, SAMPLES, sizeof(*samples), compare);
	(void)printf("%-10s median %5lld ns, 99%% %5lld ns\n", what,
	    (long long)samples[SAMPLES / 2], (long long)samples[PERCENTILE_99]);
	free(samples);
}

int
main(void)
{
	int64_t start = now_ns();
	struct policy *policy = make_policy();
	int64_t clock;

	(void)printf("%d rules loaded in %lld ms\n", (int)RULES,
	    (long long)(now_ns() - start) / 1000000);
	start = now_ns();
	for (unsigned i = 0; i < 1000; i++)
		(void)now_ns();
	clock = (now_ns() - start) / 1000;
	(void)printf("the clock itself takes %lld ns\n", (long long)clock);
	measure(policy, "allowed", "h", 1);
	measure(policy, "unknown", "u", 1);
	measure(policy, "below", "a.b.s", 10);
	policy_unref(policy);
	return 0;
}
