/*
 * bench_decide - what a verdict costs: 100,000 host rules, 1,000 path rules
 * on one host.
 *
 * Prints the median and the 99th percentile of single verdicts, less what it
 * costs to look at the clock, and the time to load the policy.  Fails where a
 * verdict allocates.  With "--assert" it also fails where the median is above
 * a microsecond or the load above a second; times mean something only on a
 * machine that has nothing else to do.
 */
#include "policy/decide.h"

#include "policy/document.h"
#include "policy/question.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	HOSTS = 100000,
	PATHS = 1000,
	ROUNDS = 200000,
	PERCENTILE_99 = ROUNDS / 100 * 99,
	QUESTIONS = 1024 /* more than a cache holds */
};

static int64_t
now_ns(void)
{
	struct timespec at;

	if (clock_gettime(CLOCK_MONOTONIC, &at) != 0)
		return 0;
	return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

/* Short, so that it is a document: 4 MiB are allowed. */
static size_t
write_policy(char *text, size_t size)
{
	struct cursor_writer out = cursor_writer_of(text, size);

	cursor_put_text(&out, "{\"version\":1,\"rules\":[");
	for (unsigned i = 0; i < HOSTS; i++) {
		cursor_put_text(&out, "{\"id\":\"h");
		cursor_put_decimal(&out, i);
		cursor_put_text(&out, "\",\"host\":[\"h");
		cursor_put_decimal(&out, i);
		cursor_put_text(&out, ".a.io\"]},");
	}
	cursor_put_text(&out, "{\"id\":\"w\",\"host\":[\"*.w7.io\"]}");
	for (unsigned i = 0; i < PATHS; i++) {
		cursor_put_u8(&out, ',');
		cursor_put_text(&out, "{\"id\":\"p");
		cursor_put_decimal(&out, i);
		cursor_put_text(&out, "\",\"host\":[\"p.io\"],\"path\":[\"/p");
		cursor_put_decimal(&out, i);
		cursor_put_text(&out, "/**\"]}");
	}
	cursor_put_text(&out, "]}");
	return cursor_written(&out) ? out.used : 0;
}

static struct policy *
load(void)
{
	char *text = malloc(LIMIT_POLICY_BYTES);
	size_t length =
	    text == NULL ? 0 : write_policy(text, LIMIT_POLICY_BYTES);
	struct problems problems = { 0 };
	struct policy *policy = NULL;

	if (length > 0 && document_load(cursor_of(text, length), "bench",
			      &policy, &problems) != STATUS_OK)
		policy = NULL;
	if (problems.count > 0)
		(void)fprintf(stderr, "%s\n", problems.list[0].text);
	problems_done(&problems);
	free(text);
	return policy;
}

static int
compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Questions that are made from numbers. */
struct kind {
	const char *name, *before, *behind;
	unsigned most;
	bool allowed;
};

/* Questions of one kind, and what is answered to all of them. */
struct asked {
	struct question *list[QUESTIONS];
	bool allowed;
};

static bool
ask_all(struct asked *asked, const struct kind *kind)
{
	asked->allowed = kind->allowed;
	for (unsigned i = 0; i < QUESTIONS; i++) {
		char words[100];
		struct problem problem;
		int length = snprintf(words, sizeof(words), "%s%u%s",
		    kind->before, (i * 7919 + 17) % kind->most, kind->behind);

		asked->list[i] = malloc(sizeof(*asked->list[i]));
		if (asked->list[i] == NULL || length < 0 ||
		    question_read(cursor_of(words, (size_t)length), 0,
			asked->list[i], &problem) != STATUS_OK)
			return false;
	}
	return true;
}

/* Decides all questions again and again; false when one is answered wrongly
 * or anything is allocated. */
static bool
measure(const char *name, const struct policy *policy,
    const struct asked *asked, int64_t *ret_median)
{
	int64_t *times = calloc(ROUNDS, sizeof(*times));
	int64_t empty = now_ns();
	struct mallinfo2 before, after;
	bool well = times != NULL;

	for (unsigned i = 0; i < 1000; i++)
		(void)now_ns();
	empty = (now_ns() - empty) / 1001;
	before = mallinfo2();
	for (unsigned i = 0; well && i < ROUNDS; i++) {
		struct verdict verdict;
		int64_t start = now_ns();

		policy_decide(policy, &asked->list[i % QUESTIONS]->facts, NULL,
		    NULL, &verdict);
		times[i] = now_ns() - start - empty;
		well = verdict_allows(&verdict) == asked->allowed;
	}
	after = mallinfo2();
	if (!well || after.uordblks != before.uordblks ||
	    after.hblks != before.hblks) {
		(void)fprintf(
		    stderr, "%s: a wrong answer, or memory taken\n", name);
		free(times);
		return false;
	}
	qsort(times, ROUNDS, sizeof(*times), compare_times);
	(void)printf("%-34s median %6lld ns, 99%% %6lld ns\n", name,
	    (long long)times[ROUNDS / 2], (long long)times[PERCENTILE_99]);
	*ret_median = times[ROUNDS / 2];
	free(times);
	return true;
}

static const struct kind kinds[] = {
	{ "one of 100,000 hosts", "https://h", ".a.io/x", HOSTS, true },
	{ "a name below a wildcard", "https://n", ".w7.io/x", HOSTS, true },
	{ "a host that no rule names", "https://n", ".b.io/x", HOSTS, false },
	{ "one of 1,000 paths of a host", "https://p.io/p", "/x", PATHS, true },
	{ "none of 1,000 paths of a host", "https://p.io/q", "", PATHS, false },
};

int
main(int argc, char **argv)
{
	bool strict = argc > 1 && strcmp(argv[1], "--assert") == 0;
	int64_t start = now_ns(), load_ns, median = 0, worst = 0;
	struct policy *policy = load();
	bool well = policy != NULL;

	load_ns = now_ns() - start;
	if (!well)
		return 1;
	(void)printf("%-34s %lld ms\n", "101,000 rules loaded in",
	    (long long)(load_ns / 1000000));
	for (size_t i = 0; well && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct asked asked = { .allowed = false };

		well = ask_all(&asked, &kinds[i]) &&
		       measure(kinds[i].name, policy, &asked, &median);
		worst = median > worst ? median : worst;
		for (size_t k = 0; k < QUESTIONS; k++)
			free(asked.list[k]);
	}
	policy_unref(policy);
	if (strict && (worst > 1000 || load_ns > 1000000000))
		return 1;
	return well ? 0 : 1;
}
