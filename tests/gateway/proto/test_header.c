#include "gateway/proto/header.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int
add(struct header *header, const char *name, const char *value)
{
	return header_add(header, cursor_of_text(name), cursor_of_text(value));
}

static void
assert_written(const struct header *header, const char *expected)
{
	char bytes[1000];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	header_write(header, &out);
	assert_true(cursor_written(&out));
	if (!cursor_equals(cursor_of(bytes, out.used), expected))
		fail_msg("%.*s", (int)out.used, bytes);
}

static struct header
example(void)
{
	struct header header = { .count = 0 };

	assert_int_equal(add(&header, "A", "1"), STATUS_OK);
	assert_int_equal(add(&header, "B", " 2\t"), STATUS_OK);
	assert_int_equal(add(&header, "a", "3"), STATUS_OK);
	assert_int_equal(add(&header, "C", ""), STATUS_OK);
	return header;
}

static void
fields_keep_their_order_and_lose_white_space(void **state)
{
	struct header header = example();

	(void)state;
	assert_written(&header, "A: 1\r\nB: 2\r\na: 3\r\nC: \r\n");
	assert_int_equal(header_count(&header, "A"), 2);
	assert_int_equal(header_count(&header, "D"), 0);
}

static void
find_gives_the_first_of_that_name(void **state)
{
	struct header header = example();
	struct cursor value = { .left = 77 };

	(void)state;
	assert_false(header_find(&header, "D", &value));
	assert_int_equal(value.left, 77);
	assert_true(header_find(&header, "a", &value));
	assert_true(cursor_equals(value, "1"));
}

static void
set_replaces_the_first_and_drops_the_others(void **state)
{
	struct header header = example();

	(void)state;
	assert_int_equal(
	    header_set(&header, "A", cursor_of_text(" new ")), STATUS_OK);
	assert_int_equal(
	    header_set(&header, "D", cursor_of_text("4")), STATUS_OK);
	assert_written(&header, "A: new\r\nB: 2\r\nC: \r\nD: 4\r\n");
}

static void
drop_takes_all_of_that_name(void **state)
{
	struct header header = example();

	(void)state;
	assert_int_equal(header_drop(&header, "A"), 2);
	assert_int_equal(header_drop(&header, "A"), 0);
	assert_written(&header, "B: 2\r\nC: \r\n");
}

/* Whatever sets a field, nothing can end a line or begin another field. */
static void
a_field_that_would_break_the_head_is_refused(void **state)
{
	static const char *const names[] = { "", " ", "a b", "a:", "a\r", "\n",
		"a\x7f", "caf\xc3\xa9", "(a)", "a,b", "a\tb", "\"a\"" };
	static const char *const values[] = { "\r", "a\nb", "a\r\nb: c", "\x01",
		"\x7f", "a\x0b", "\x1b[0m" };
	struct header header = example();

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(add(&header, names[i], "x"), STATUS_MALFORMED);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct cursor value = cursor_of_text(values[i]);

		assert_int_equal(
		    add(&header, "X", values[i]), STATUS_MALFORMED);
		assert_int_equal(
		    header_set(&header, "A", value), STATUS_MALFORMED);
		assert_int_equal(
		    header_set(&header, "X", value), STATUS_MALFORMED);
	}
	assert_int_equal(
	    header_add(&header, cursor_of_text("X"), cursor_of("a\0b", 3)),
	    STATUS_MALFORMED);
	assert_written(&header, "A: 1\r\nB: 2\r\na: 3\r\nC: \r\n");
}

static void
a_full_list_takes_no_more(void **state)
{
	struct header header = { .count = 0 };

	(void)state;
	for (size_t i = 0; i < LIMIT_HTTP_FIELDS; i++)
		assert_int_equal(add(&header, "A", "x"), STATUS_OK);
	assert_int_equal(add(&header, "A", "x"), STATUS_FULL);
	assert_int_equal(
	    header_set(&header, "B", cursor_of_text("x")), STATUS_FULL);
	assert_int_equal(header.count, LIMIT_HTTP_FIELDS);
	assert_int_equal(
	    header_set(&header, "a", cursor_of_text("y")), STATUS_OK);
	assert_int_equal(header.count, 1);
}

static void
lists_are_read_across_fields_and_empty_members(void **state)
{
	struct header header = { .count = 0 };

	(void)state;
	assert_int_equal(add(&header, "L", " ,, One ,\t,"), STATUS_OK);
	assert_int_equal(add(&header, "M", "three"), STATUS_OK);
	assert_int_equal(add(&header, "l", "two"), STATUS_OK);
	assert_true(header_lists(&header, "L", "one"));
	assert_true(header_lists(&header, "L", "TWO"));
	assert_false(header_lists(&header, "L", "three"));
	assert_false(header_lists(&header, "L", ""));
	assert_false(header_lists(&header, "N", "one"));
}

/* RFC 9110 section 5.6.2, letter for letter. */
static void
a_token_has_the_bytes_of_the_standard(void **state)
{
	static const char tchar[] =
	    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		unsigned char text = (unsigned char)byte;
		bool expected = memchr(tchar, text, sizeof(tchar) - 1) != NULL;

		assert_int_equal(
		    header_is_token(cursor_of(&text, 1)), expected);
	}
	assert_false(header_is_token(cursor_of(NULL, 0)));
}

static void
names_that_share_a_beginning_are_not_the_same(void **state)
{
	(void)state;
	assert_true(header_is(cursor_of_text("HOST"), "host"));
	assert_false(header_is(cursor_of_text("host"), "hosts"));
	assert_false(header_is(cursor_of_text("hosts"), "host"));
	assert_false(header_is(cursor_of("ho\0t", 4), "host"));
	assert_true(header_same(cursor_of_text("TE"), cursor_of_text("te")));
	assert_false(header_same(cursor_of_text("TE"), cursor_of_text("t")));
	assert_true(header_same(cursor_of(NULL, 0), cursor_of(NULL, 0)));
	assert_true(header_is(cursor_of(NULL, 0), ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_keep_their_order_and_lose_white_space),
		cmocka_unit_test(find_gives_the_first_of_that_name),
		cmocka_unit_test(set_replaces_the_first_and_drops_the_others),
		cmocka_unit_test(drop_takes_all_of_that_name),
		cmocka_unit_test(a_field_that_would_break_the_head_is_refused),
		cmocka_unit_test(a_full_list_takes_no_more),
		cmocka_unit_test(
		    lists_are_read_across_fields_and_empty_members),
		cmocka_unit_test(a_token_has_the_bytes_of_the_standard),
		cmocka_unit_test(names_that_share_a_beginning_are_not_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
