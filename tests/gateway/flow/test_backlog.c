/* Bytes come out as they went in, whatever the pieces. */
#include "gateway/flow/backlog.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
bytes_come_out_in_order(void **state)
{
	struct backlog backlog = { 0 };
	unsigned char piece[3000];
	size_t put = 0, got = 0;

	(void)state;
	for (int i = 1; i <= 40; i++) {
		size_t length = (size_t)(i * 71 % 3000) + 1;

		for (size_t k = 0; k < length; k++)
			piece[k] = (unsigned char)((put + k) % 251);
		assert_int_equal(
		    backlog_put(&backlog, cursor_of(piece, length)), STATUS_OK);
		put += length;
	}
	assert_int_equal(backlog.length, put);
	while (backlog.length > 0) {
		struct cursor bytes = backlog_peek(&backlog);
		size_t take = bytes.left > 97 ? 97 : bytes.left;

		for (size_t k = 0; k < take; k++)
			assert_int_equal(bytes.at[k], (got + k) % 251);
		backlog_eat(&backlog, take);
		got += take;
	}
	assert_int_equal(got, put);
	assert_null(backlog.first);
}

static void
an_empty_one_holds_nothing(void **state)
{
	struct backlog backlog = { 0 };

	(void)state;
	assert_int_equal(backlog_put(&backlog, cursor_of(NULL, 0)), STATUS_OK);
	assert_null(backlog.first);
	assert_int_equal(backlog_peek(&backlog).left, 0);
	backlog_eat(&backlog, 0);
	assert_int_equal(
	    backlog_put(&backlog, cursor_of_text("left")), STATUS_OK);
	backlog_clear(&backlog);
	assert_null(backlog.first);
	assert_int_equal(backlog.length, 0);
}

/* A sandbox that opens ever more streams is refused, not given memory. */
static void
all_together_hold_no_more_than_the_limit(void **state)
{
	static unsigned char bytes[65536];
	static struct backlog list[LIMIT_H2_HELD / sizeof(bytes) + 1];
	size_t held = 0, count = sizeof(list) / sizeof(list[0]);

	(void)state;
	for (size_t i = 0; i < count; i++)
		list[i].held = &held;
	for (size_t i = 0; i < count - 1; i++)
		assert_int_equal(
		    backlog_put(&list[i], cursor_of(bytes, sizeof(bytes))),
		    STATUS_OK);
	assert_int_equal(held, LIMIT_H2_HELD);
	assert_int_equal(
	    backlog_put(&list[count - 1], cursor_of(bytes, 1)), STATUS_FULL);
	assert_null(list[count - 1].first);
	backlog_clear(&list[0]);
	assert_int_equal(
	    backlog_put(&list[count - 1], cursor_of(bytes, 1)), STATUS_OK);
	for (size_t i = 0; i < count; i++)
		backlog_clear(&list[i]);
	assert_int_equal(held, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_in_order),
		cmocka_unit_test(an_empty_one_holds_nothing),
		cmocka_unit_test(all_together_hold_no_more_than_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
