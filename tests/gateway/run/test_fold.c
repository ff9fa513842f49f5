#include "gateway/run/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define WINDOW (LIMIT_FOLD_MS * INT64_C(1000))

static bool
refuse(struct fold *fold, const char *zone, const char *what, int64_t now_us)
{
	struct fold_item item = { .zone = cursor_of_text(zone),
		.what = cursor_of_text(what),
		.number = 28,
		.reason = REASON_NO_RULE };

	return fold_admits(fold, &item, now_us);
}

/* As many as get rows of their own. */
static void
use_up(struct fold *fold, const char *zone, int64_t now_us)
{
	for (unsigned i = 0; i < LIMIT_FOLD_ROWS; i++)
		assert_true(refuse(fold, zone, "x", now_us));
}

static void
first_ones_have_rows_and_the_others_one_sum(void **state)
{
	struct fold *fold = fold_new();
	struct fold_sum sum = { .count = 7 };

	(void)state;
	assert_non_null(fold);
	use_up(fold, "evil.test", 1);
	assert_false(refuse(fold, "evil.test", "a.evil.test", 1));
	assert_false(refuse(fold, "evil.test", "b.evil.test", WINDOW));
	assert_false(fold_take(fold, WINDOW, &sum));
	assert_int_equal(sum.count, 7);
	assert_true(fold_take(fold, WINDOW + 1, &sum));
	assert_int_equal(sum.count, 2);
	assert_string_equal(sum.zone, "evil.test");
	assert_string_equal(sum.what, "b.evil.test");
	assert_int_equal(sum.number, 28);
	assert_int_equal(sum.reason, REASON_NO_RULE);
	assert_false(fold_take(fold, INT64_MAX, &sum));
	fold_free(fold);
}

static void
busy_kind_has_no_row_but_its_sums_until_it_was_quiet(void **state)
{
	struct fold *fold = fold_new();
	struct fold_sum sum;
	int64_t now_us = 0;

	(void)state;
	use_up(fold, "evil.test", now_us);
	for (int i = 0; i < 5; i++) {
		assert_false(refuse(fold, "evil.test", "a", now_us));
		now_us += WINDOW;
		assert_true(fold_take(fold, now_us, &sum));
		assert_int_equal(sum.count, 1);
	}
	assert_false(refuse(fold, "evil.test", "a", now_us));
	now_us += WINDOW;
	assert_true(fold_take(fold, now_us, &sum));
	now_us += WINDOW;
	use_up(fold, "evil.test", now_us);
	fold_free(fold);
}

static void
reasons_and_zones_are_told_apart(void **state)
{
	struct fold *fold = fold_new();
	struct fold_item item = { .zone = cursor_of_text("evil.test"),
		.reason = REASON_DENIED };

	(void)state;
	use_up(fold, "evil.test", 0);
	assert_true(fold_admits(fold, &item, 0));
	use_up(fold, "other.test", 0);
	/* One that begins alike is another. */
	use_up(fold, "evil.tes", 0);
	use_up(fold, "", 0);
	assert_false(refuse(fold, "evil.test", "a", 0));
	fold_free(fold);
}

static void
kinds_without_end_are_bounded_and_none_is_lost(void **state)
{
	struct fold *fold = fold_new();
	struct fold_sum sum;
	uint64_t rows = 0, counted = 0;
	char zone[32];

	(void)state;
	for (unsigned i = 0; i < 50000; i++) {
		(void)snprintf(zone, sizeof(zone), "z%u.test", i);
		if (refuse(fold, zone, zone, 0))
			rows++;
	}
	assert_int_equal(rows, LIMIT_FOLD_KINDS + LIMIT_FOLD_ROWS);
	while (fold_take(fold, INT64_MAX, &sum)) {
		assert_string_equal(sum.zone, "");
		assert_string_equal(sum.what, "z49999.test");
		counted += sum.count;
	}
	assert_int_equal(rows + counted, 50000);
	fold_free(fold);
}

static void
kind_that_is_quiet_makes_room_for_another(void **state)
{
	struct fold *fold = fold_new();
	struct fold_sum sum;
	char zone[32];

	(void)state;
	for (unsigned i = 0; i < LIMIT_FOLD_KINDS; i++) {
		(void)snprintf(zone, sizeof(zone), "z%u.test", i);
		assert_true(refuse(fold, zone, zone, 0));
	}
	use_up(fold, "late.test", WINDOW);
	assert_false(refuse(fold, "late.test", "a", WINDOW));
	assert_true(fold_take(fold, INT64_MAX, &sum));
	assert_string_equal(sum.zone, "late.test");
	fold_free(fold);
}

static void
long_text_is_cut_and_still_of_one_kind(void **state)
{
	struct fold *fold = fold_new();
	struct fold_sum sum;
	char text[LIMIT_HOST + 100];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	use_up(fold, text, 0);
	assert_false(refuse(fold, text, text, 0));
	assert_true(fold_take(fold, INT64_MAX, &sum));
	assert_int_equal(strlen(sum.zone), LIMIT_HOST);
	assert_int_equal(strlen(sum.what), LIMIT_HOST);
	fold_free(fold);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_ones_have_rows_and_the_others_one_sum),
		cmocka_unit_test(
		    busy_kind_has_no_row_but_its_sums_until_it_was_quiet),
		cmocka_unit_test(reasons_and_zones_are_told_apart),
		cmocka_unit_test(
		    kinds_without_end_are_bounded_and_none_is_lost),
		cmocka_unit_test(kind_that_is_quiet_makes_room_for_another),
		cmocka_unit_test(long_text_is_cut_and_still_of_one_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
