#include "schema/cursor.h"

#include "tests/schema/dice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
empty_cursor_fails_and_leaves_output_alone(void **state)
{
	struct cursor c = cursor_of(NULL, 0), part = { .left = 77 };
	uint8_t u8 = 77;
	uint16_t u16 = 77;
	uint32_t u32 = 77;
	uint64_t u64 = 77;
	char text[4] = "abc";

	(void)state;
	assert_false(cursor_u8(&c, &u8) || cursor_peek(&c, &u8));
	assert_false(cursor_u16(&c, &u16));
	assert_false(cursor_u24(&c, &u32) || cursor_u32(&c, &u32));
	assert_false(cursor_u64(&c, &u64));
	assert_false(cursor_skip(&c, 1) || cursor_copy(&c, 1, text));
	assert_false(cursor_take(&c, 1, &part) || cursor_block(&c, &part));
	assert_false(cursor_until(&c, 0, &part));
	assert_false(cursor_decimal(&c, 9, &u64) || cursor_hex(&c, 9, &u64));
	assert_false(cursor_string(&c, text, sizeof(text)));
	assert_false(cursor_literal(&c, "a"));
	assert_int_equal(u8, 77);
	assert_int_equal(u16, 77);
	assert_int_equal(u32, 77);
	assert_int_equal(u64, 77);
	assert_int_equal(part.left, 77);
	assert_string_equal(text, "abc");
	assert_true(cursor_is_empty(&c) && cursor_equals(c, ""));
	assert_true(cursor_skip(&c, 0) && cursor_literal(&c, ""));
}

static void
numbers_are_big_endian(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
		13, 14, 15, 16, 17, 18 };
	struct cursor c = cursor_of(bytes, sizeof(bytes));
	uint8_t u8;
	uint16_t u16;
	uint32_t u24, u32;
	uint64_t u64;

	(void)state;
	assert_true(cursor_u8(&c, &u8) && u8 == 0x01);
	assert_true(cursor_u16(&c, &u16) && u16 == 0x0203);
	assert_true(cursor_u24(&c, &u24) && u24 == 0x040506);
	assert_true(cursor_u32(&c, &u32) && u32 == 0x0708090a);
	assert_true(cursor_u64(&c, &u64) && u64 == 0x0b0c0d0e0f101112);
	assert_true(cursor_is_empty(&c));
}

/* A read that is one byte short moves nothing. */
static void
a_short_read_leaves_the_cursor(void **state)
{
	static const char bytes[] = "\0\5abcd";
	struct cursor c = cursor_of(bytes, 6), part;
	uint64_t u64;
	char text[8];

	(void)state;
	assert_false(cursor_u64(&c, &u64) || cursor_skip(&c, 7));
	assert_false(cursor_take(&c, 7, &part) || cursor_block(&c, &part));
	assert_false(cursor_string(&c, text, sizeof(text)));
	assert_false(cursor_until(&c, 'x', &part));
	assert_int_equal(c.left, 6);
	assert_ptr_equal(c.at, bytes);
	assert_false(cursor_take(&c, SIZE_MAX, &part));
}

static void
digits_end_where_they_end_and_never_overflow(void **state)
{
	struct cursor c = cursor_of_text("0012x");
	uint64_t n = 77;

	(void)state;
	assert_true(cursor_decimal(&c, 12, &n) && n == 12);
	assert_true(cursor_equals(c, "x"));
	assert_false(cursor_decimal(&c, 12, &n));
	c = cursor_of_text("13");
	assert_false(cursor_decimal(&c, 12, &n));
	assert_int_equal(c.left, 2);
	c = cursor_of_text("18446744073709551615");
	assert_true(cursor_decimal(&c, UINT64_MAX, &n) && n == UINT64_MAX);
	c = cursor_of_text("18446744073709551616");
	assert_false(cursor_decimal(&c, UINT64_MAX, &n));
	c = cursor_of_text("fFffFFffffffffff");
	assert_true(cursor_hex(&c, UINT64_MAX, &n) && n == UINT64_MAX);
	c = cursor_of_text("10000000000000000");
	assert_false(cursor_hex(&c, UINT64_MAX, &n));
	c = cursor_of_text("+1");
	assert_false(cursor_decimal(&c, 9, &n) || cursor_hex(&c, 9, &n));
	c = cursor_of_text(" 1");
	assert_false(cursor_decimal(&c, 9, &n) || cursor_hex(&c, 9, &n));
	c = cursor_of_text("1");
	assert_false(cursor_decimal(&c, 0, &n));
}

static void
until_stops_before_the_end_and_passes_it(void **state)
{
	struct cursor c = cursor_of_text("a::b"), part;

	(void)state;
	assert_true(cursor_until(&c, ':', &part) && cursor_equals(part, "a"));
	assert_true(cursor_until(&c, ':', &part) && cursor_equals(part, ""));
	assert_false(cursor_until(&c, ':', &part));
	assert_true(cursor_equals(c, "b"));
}

static void
a_string_must_fit_and_have_no_nul(void **state)
{
	static const char bytes[] = "\0\3abc\0\2a\0";
	struct cursor c = cursor_of(bytes, 9);
	char text[4] = "xyz", small[3] = "xy";

	(void)state;
	assert_false(cursor_string(&c, small, sizeof(small)));
	assert_string_equal(small, "xy");
	assert_true(cursor_string(&c, text, sizeof(text)));
	assert_string_equal(text, "abc");
	assert_false(cursor_string(&c, text, sizeof(text)));
	assert_string_equal(text, "abc");
	assert_int_equal(c.left, 4);
}

static void
what_was_written_is_read_again(void **state)
{
	struct dice dice = { .state = 1 };
	unsigned char bytes[64];
	uint64_t value, u64;
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		struct cursor_writer w = cursor_writer_of(bytes, sizeof(bytes));
		struct cursor c;

		value = (uint64_t)dice_throw(&dice, 1U << 31) << 33 ^
			(uint64_t)dice_throw(&dice, 1U << 31) << 11;
		cursor_put_u64(&w, value);
		cursor_put_u32(&w, (uint32_t)value);
		cursor_put_u16(&w, (uint16_t)value);
		cursor_put_u8(&w, (uint8_t)value);
		cursor_put_decimal(&w, value);
		assert_true(cursor_written(&w));
		c = cursor_of(bytes, w.used);
		assert_true(cursor_u64(&c, &u64) && u64 == value);
		assert_true(cursor_u32(&c, &u32) && u32 == (uint32_t)value);
		assert_true(cursor_u16(&c, &u16) && u16 == (uint16_t)value);
		assert_true(cursor_u8(&c, &u8) && u8 == (uint8_t)value);
		assert_true(cursor_decimal(&c, value, &u64) && u64 == value);
		assert_true(cursor_is_empty(&c));
	}
}

static void
a_writer_never_passes_its_end_and_stays_overflowed(void **state)
{
	unsigned char bytes[4] = { 9, 9, 9, 9 };
	struct cursor_writer w = cursor_writer_of(bytes, 3);

	(void)state;
	cursor_put_u16(&w, 1);
	cursor_put_u16(&w, 2);
	assert_false(cursor_written(&w));
	cursor_put_u8(&w, 3);
	assert_false(cursor_written(&w));
	assert_int_equal(w.used, 2);
	assert_int_equal(bytes[3], 9);
}

static void
a_block_longer_than_its_length_overflows(void **state)
{
	static unsigned char bytes[80000], block[UINT16_MAX + 1];
	struct cursor_writer w = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	cursor_put_block(&w, block, UINT16_MAX);
	assert_true(cursor_written(&w));
	assert_int_equal(w.used, UINT16_MAX + 2);
	w = cursor_writer_of(bytes, sizeof(bytes));
	cursor_put_block(&w, block, UINT16_MAX + 1);
	assert_false(cursor_written(&w));
}

static void
a_patch_stays_inside_what_was_written(void **state)
{
	unsigned char bytes[8];
	struct cursor_writer w = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	cursor_put_u16(&w, 0);
	cursor_put_u8(&w, 7);
	cursor_patch_u16(&w, 0, 0x1234);
	assert_memory_equal(bytes, "\x12\x34\x07", 3);
	cursor_patch_u16(&w, 2, 1);
	assert_false(cursor_written(&w));
	w = cursor_writer_of(bytes, sizeof(bytes));
	cursor_patch_u16(&w, 0, 1);
	assert_false(cursor_written(&w));
	w = cursor_writer_of(bytes, sizeof(bytes));
	cursor_put_u16(&w, 0);
	cursor_patch_u16(&w, SIZE_MAX, 1);
	assert_false(cursor_written(&w));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_cursor_fails_and_leaves_output_alone),
		cmocka_unit_test(numbers_are_big_endian),
		cmocka_unit_test(a_short_read_leaves_the_cursor),
		cmocka_unit_test(digits_end_where_they_end_and_never_overflow),
		cmocka_unit_test(until_stops_before_the_end_and_passes_it),
		cmocka_unit_test(a_string_must_fit_and_have_no_nul),
		cmocka_unit_test(what_was_written_is_read_again),
		cmocka_unit_test(
		    a_writer_never_passes_its_end_and_stays_overflowed),
		cmocka_unit_test(a_block_longer_than_its_length_overflows),
		cmocka_unit_test(a_patch_stays_inside_what_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
