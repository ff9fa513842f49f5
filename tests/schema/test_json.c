#include "schema/json.h"

#include "tests/schema/dice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include <cmocka.h>

static char text[4096];

static void
assert_text(const struct cursor_writer *out, const char *expected)
{
	assert_true(cursor_written(out));
	if (!cursor_equals(cursor_of(text, out->used), expected))
		fail_msg("%.*s", (int)out->used, text);
}

static void
commas_stand_between_values_only(void **state)
{
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&out);

	(void)state;
	json_open(&j, NULL, '{');
	json_open(&j, "empty", '[');
	json_close(&j, ']');
	json_open(&j, "list", '[');
	json_number(&j, NULL, 1);
	json_bool(&j, NULL, true);
	json_none(&j, NULL);
	json_open(&j, NULL, '{');
	json_close(&j, '}');
	json_text(&j, NULL, "a");
	json_close(&j, ']');
	json_verbatim(&j, "as", "{\"it\":\"is\"}");
	json_close(&j, '}');
	assert_text(&out, "{\"empty\":[],\"list\":[1,true,null,{},\"a\"],"
			  "\"as\":{\"it\":\"is\"}}");
}

static void
numbers_reach_both_ends(void **state)
{
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&out);

	(void)state;
	json_open(&j, NULL, '[');
	json_number(&j, NULL, INT64_MIN);
	json_number(&j, NULL, INT64_MAX);
	json_number(&j, NULL, 0);
	json_number(&j, NULL, -1);
	json_close(&j, ']');
	assert_text(&out, "[-9223372036854775808,9223372036854775807,0,-1]");
}

static void
what_could_end_a_string_is_escaped(void **state)
{
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&out);

	(void)state;
	json_open(&j, NULL, '{');
	json_bytes(&j, "a\"b", cursor_of("\"\\\n\0\x1f\x7f/", 7));
	json_close(&j, '}');
	assert_text(
	    &out, "{\"a\\\"b\":\"\\\"\\\\\\u000a\\u0000\\u001f\\u007f/\"}");
}

/* RFC 3629: overlong forms, surrogates, what is too large or cut off. */
static void
what_is_not_utf_8_is_replaced(void **state)
{
	static const char *const rows[][2] = {
		{ "\xc3\xa9", "\"\xc3\xa9\"" },
		{ "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
		{ "\xc3", "\"\xef\xbf\xbd\"" },
		{ "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xe0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\377a", "\"\357\277\275a\"" },
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cursor_writer out = cursor_writer_of(text, sizeof(text));
		struct json j = json_to(&out);

		json_text(&j, NULL, rows[i][0]);
		assert_text(&out, rows[i][1]);
	}
}

/* Judged by a reader that somebody else wrote. */
static void
any_bytes_become_valid_json(void **state)
{
	struct dice dice = { .state = 4 };
	char bytes[100];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		size_t length = dice_throw(&dice, sizeof(bytes));
		struct cursor_writer out = cursor_writer_of(text, sizeof(text));
		struct json j = json_to(&out);
		json_t *read;

		for (size_t k = 0; k < length; k++)
			bytes[k] = (char)(dice_throw(&dice, 2) == 0
					      ? dice_throw(&dice, 256)
					      : 0x80 + dice_throw(&dice, 0x75));
		json_open(&j, NULL, '[');
		json_bytes(&j, NULL, cursor_of(bytes, length));
		json_close(&j, ']');
		assert_true(cursor_written(&out));
		read = json_loadb(text, out.used, JSON_ALLOW_NUL, NULL);
		assert_non_null(read);
		json_decref(read);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values_only),
		cmocka_unit_test(numbers_reach_both_ends),
		cmocka_unit_test(what_could_end_a_string_is_escaped),
		cmocka_unit_test(what_is_not_utf_8_is_replaced),
		cmocka_unit_test(any_bytes_become_valid_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
