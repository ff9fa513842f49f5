#include "gateway/proto/needle.h"

#include "schema/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char first[] = "ghp_0123456789abcdefABCDEF";
static const char second[] = "sk-ant-/+zz_yyXXww9988";

static struct needles *
both(bool fold)
{
	struct cursor list[] = { cursor_of_text(first),
		cursor_of_text(second) };
	struct needles *needles = needles_new(list, 2, fold);

	assert_non_null(needles);
	return needles;
}

/* Searches text cut in two at every place; counts the hits, which agree. */
static size_t
count_hits(const char *text, struct needle_hit *ret)
{
	struct needles *needles = both(false);
	struct needle *needle = needle_new(needles);
	size_t length = strlen(text), hits = 0;

	assert_non_null(needle);
	for (size_t cut = 0; cut <= length; cut++) {
		struct needle_hit hit = { .which = 99 };
		size_t count = 0;

		needle_reset(needle);
		for (int part = 0; part < 2; part++) {
			struct cursor in =
			    part == 0 ? cursor_of(text, cut)
				      : cursor_of(text + cut, length - cut);

			while (needle_find(needle, &in, &hit))
				count++;
		}
		if (cut == 0)
			hits = count;
		assert_int_equal(count, hits);
		if (count > 0)
			*ret = hit;
	}
	needle_free(needle);
	needles_free(needles);
	return hits;
}

static void
a_string_is_found_as_it_is_across_every_cut(void **state)
{
	struct needle_hit hit;

	(void)state;
	assert_int_equal(
	    count_hits("xx ghp_0123456789abcdefABCDEF yy", &hit), 1);
	assert_int_equal(hit.which, 0);
	assert_true(hit.plain);
	assert_int_equal(hit.begin, 3);
	assert_int_equal(hit.end, 3 + strlen(first));
	assert_int_equal(count_hits("ghp_0123456789abcdefABCDE", &hit), 0);
	assert_int_equal(count_hits("ghp_0123456789abcdefABCDEf", &hit), 0);
	/* Its own beginning before it costs nothing and hides nothing. */
	assert_int_equal(
	    count_hits("ghp_01ghp_0123ghp_0123456789abcdefABCDEF", &hit), 1);
	assert_int_equal(hit.begin, 14);
}

static void
every_occurrence_is_a_hit_of_its_own(void **state)
{
	struct needle_hit hit;

	(void)state;
	/* C14 */
	assert_int_equal(
	    count_hits("ghp_0123456789abcdefABCDEFghp_0123456789abcdefABCDEF"
		       " sk-ant-/+zz_yyXXww9988",
		&hit),
	    3);
	assert_int_equal(hit.which, 1);
}

static void
percent_encoding_in_whole_or_in_part_hides_nothing(void **state)
{
	struct needle_hit hit;

	(void)state;
	assert_int_equal(
	    count_hits("a=%67hp_%30123456789abcdefABCDE%46&b", &hit), 1);
	assert_false(hit.plain);
	assert_int_equal(hit.begin, 2);
	assert_int_equal(hit.end, 34);
	assert_int_equal(
	    count_hits("sk%2Dant%2d%2f%2Bzz%5FyyXXww9988", &hit), 1);
	assert_int_equal(hit.which, 1);
	/* A broken escape is only text. */
	assert_int_equal(
	    count_hits("%%6%67hp_0123456789abcdefABCDEF%", &hit), 1);
	assert_int_equal(hit.begin, 3);
}

static void
escapes_of_json_hide_nothing(void **state)
{
	struct needle_hit hit;

	(void)state;
	assert_int_equal(
	    count_hits("{\"k\":\"sk-ant-\\/+zz_yyXXww9988\"}", &hit), 1);
	assert_int_equal(hit.begin, 6);
	assert_int_equal(hit.end, 29);
	assert_int_equal(
	    count_hits("\\u0067hp_\\u00300123456789abcdefABCDEF", &hit), 0);
	assert_int_equal(
	    count_hits("\\u0067hp_\\u0030123456789abcdefABCDEF", &hit), 1);
	assert_int_equal(
	    count_hits("\\u00\\u0067hp_0123456789abcdefABCDEF", &hit), 1);
	assert_int_equal(
	    count_hits("\\x\\\\ghp_0123456789abcdefABCDEF\\", &hit), 1);
}

static void
base64_hides_nothing_wherever_it_begins(void **state)
{
	/* "x:", "xy:" and "git:" before the first, and "u:" before the other */
	static const char *const encoded[] = {
		"eDpnaHBfMDEyMzQ1Njc4OWFiY2RlZkFCQ0RFRg==",
		"eHk6Z2hwXzAxMjM0NTY3ODlhYmNkZWZBQkNERUY=",
		"Z2l0OmdocF8wMTIzNDU2Nzg5YWJjZGVmQUJDREVG",
		"Z2hwXzAxMjM0NTY3ODlhYmNkZWZBQkNERUY6eC1vYXV0aC1iYXNpYw==",
	};
	struct needle_hit hit;

	(void)state;
	for (size_t i = 0; i < sizeof(encoded) / sizeof(encoded[0]); i++) {
		assert_int_equal(count_hits(encoded[i], &hit), 1);
		assert_int_equal(hit.which, 0);
		assert_false(hit.plain);
	}
	assert_int_equal(
	    count_hits("dTpzay1hbnQtLyt6el95eVhYd3c5OTg4", &hit), 1);
	assert_int_equal(hit.which, 1);
	/* And percent-encoded once more. */
	assert_int_equal(
	    count_hits("dTpzay1hbnQtLyt6el9%35eVhYd3c5OTg4", &hit), 1);
}

static void
letters_count_the_same_in_names_when_told_so(void **state)
{
	struct needles *needles = both(true);
	struct needle *needle = needle_new(needles);
	struct needle_hit hit;

	(void)state;
	assert_non_null(needle);
	assert_true(needle_is_in(needle,
	    cursor_of_text("ghp_0123456789abcdefabcdef.example.com"), &hit));
	assert_false(needle_is_in(
	    needle, cursor_of_text("ghp_0123456789.example.com"), &hit));
	needle_free(needle);
	needles_free(needles);
}

static void
what_may_be_a_beginning_is_held(void **state)
{
	static const struct {
		const char *text;
		size_t held;
	} cases[] = {
		{ "", 0 },
		{ "...", 0 },
		{ "..ghp_", 4 },
		{ "..%67hp", 5 },
		{ "..ghp_%3", 6 },
		{ "..\\u00", 4 },
		{ "ghp_0123456789abcdefABCDEF", 0 },
		{ "ghp_0123456789abcdefABCDEFgh", 2 },
	};
	struct needles *needles = both(false);
	struct needle *needle = needle_new(needles);

	(void)state;
	assert_non_null(needle);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cursor in = cursor_of_text(cases[i].text);
		struct needle_hit hit;

		needle_reset(needle);
		while (needle_find(needle, &in, &hit))
			continue;
		assert_int_equal(needle_held(needle), cases[i].held);
	}
	needle_free(needle);
	needles_free(needles);
}

static void
strings_too_short_too_long_or_too_many_are_refused(void **state)
{
	static char text[LIMIT_NEEDLE + 1];
	static struct cursor many[LIMIT_NEEDLES + 1];
	struct cursor one = cursor_of_text("1234567");
	struct needles *needles;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_null(needles_new(&one, 1, false));
	assert_null(needles_new(&one, 0, false));
	one = cursor_of(text, sizeof(text));
	assert_null(needles_new(&one, 1, false));
	for (size_t i = 0; i < LIMIT_NEEDLES + 1; i++)
		many[i] = cursor_of(text, 64);
	assert_null(needles_new(many, LIMIT_NEEDLES + 1, false));
	one = cursor_of(text, LIMIT_NEEDLE);
	needles = needles_new(&one, 1, false);
	assert_non_null(needles);
	needles_free(needles);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_string_is_found_as_it_is_across_every_cut),
		cmocka_unit_test(every_occurrence_is_a_hit_of_its_own),
		cmocka_unit_test(
		    percent_encoding_in_whole_or_in_part_hides_nothing),
		cmocka_unit_test(escapes_of_json_hide_nothing),
		cmocka_unit_test(base64_hides_nothing_wherever_it_begins),
		cmocka_unit_test(letters_count_the_same_in_names_when_told_so),
		cmocka_unit_test(what_may_be_a_beginning_is_held),
		cmocka_unit_test(
		    strings_too_short_too_long_or_too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
