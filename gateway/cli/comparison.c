#include "gateway/cli/comparison.h"

#include "gateway/cli/command.h"
#include "gateway/cli/layering.h"
#include "gateway/cli/outlet.h"
#include "gateway/proc/clock.h"
#include "policy/compare.h"
#include "policy/outline.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>

/* Differences that are shown; a person reads no more, and one is enough. */
#define SHOWN 200
#define WORDS_MAX 4096

struct telling {
	struct outlet *outlet; /* or NULL: for people */
	size_t count;
};

static void
print_difference(const struct compare_difference *difference, const char *words)
{
	static const char *const heads[] = {
		[COMPARE_ALLOWS] = "allows",
		[COMPARE_ASKS] = "allows, after asking,",
		[COMPARE_PRIVATE] =
		    "leads to addresses that are not public for",
		[COMPARE_RESOLVE] = "leads to another address for",
		[COMPARE_TRUST] = "trusts another authority for",
		[COMPARE_CREDENTIAL] = "uses a credential otherwise for",
		[COMPARE_UNDECIDED] = "may allow, nobody can tell,",
	};

	(void)printf("+ \"%s\" %s %s\n", rule_id(difference->rule),
	    heads[difference->kind], words);
	if (difference->witness == NULL)
		return;
	(void)printf("    as in: %s\n", difference->witness);
	if (!difference->confirmed && difference->kind != COMPARE_UNDECIDED)
		(void)printf("    (this one request is not answered so, "
			     "others may be)\n");
}

static void
write_difference(struct outlet *outlet,
    const struct compare_difference *difference, const char *words)
{
	struct json *json = &outlet->json;

	json_open(json, NULL, '{');
	json_text(json, "kind", compare_kind_name(difference->kind));
	json_text(json, "rule", rule_id(difference->rule));
	json_text(json, "sort", region_sort_name(difference->region->sort));
	json_text(json, "covers", words);
	if (difference->witness != NULL)
		json_text(json, "witness", difference->witness);
	json_bool(json, "confirmed", difference->confirmed);
	json_close(json, '}');
	outlet_flush(outlet);
}

static bool
on_difference(const struct compare_difference *difference, void *arg)
{
	struct telling *telling = arg;
	char words[WORDS_MAX];
	struct cursor_writer out = cursor_writer_of(words, sizeof(words) - 1);

	outline_region(difference->region, &out);
	words[out.used] = '\0';
	telling->count++;
	if (telling->outlet == NULL)
		print_difference(difference, words);
	else
		write_difference(telling->outlet, difference, words);
	return telling->count < SHOWN;
}

static void
finish(const struct telling *telling)
{
	if (telling->outlet != NULL) {
		json_close(&telling->outlet->json, ']');
		outlet_end(telling->outlet);
		return;
	}
	if (telling->count == 0)
		(void)printf("nothing more is allowed\n");
	else if (telling->count == SHOWN)
		(void)printf("and perhaps more\n");
}

static int
compare(const struct layering *before, const struct layering *after, bool json)
{
	struct telling telling = { .outlet = json ? outlet_new() : NULL };
	int status = STATUS_NO_MEMORY;

	if (telling.outlet != NULL)
		json_open(&telling.outlet->json, NULL, '[');
	if (!json || telling.outlet != NULL)
		status = compare_stacks(before->stack, after->stack,
		    clock_wall_us(), on_difference, &telling);
	if (status == STATUS_OK)
		finish(&telling);
	else
		(void)fprintf(stderr, "exeat policy: there is not enough "
				      "memory to compare these\n");
	free(telling.outlet);
	if (status != STATUS_OK)
		return COMMAND_FAILED;
	return telling.count == 0 ? COMMAND_OK : COMMAND_NO;
}

int
comparison_run(const struct comparison_side *before,
    const struct comparison_side *after, bool json)
{
	struct layering a = { .count = 0 }, b = { .count = 0 };
	int code = COMMAND_NO;
	bool well = layering_load(&a, before->files, before->count);

	/* The problems of both sides in one go. */
	well = layering_load(&b, after->files, after->count) && well;
	if (well)
		code = compare(&a, &b, json);
	layering_done(&a);
	layering_done(&b);
	return code;
}
