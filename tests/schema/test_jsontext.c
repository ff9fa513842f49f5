#include "schema/jsontext.h"

#include "schema/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

static bool
accepts(const char *text)
{
	return jsontext_is_object(cursor_of_text(text));
}

static void
one_object_is_accepted(void **state)
{
	static const char *const good[] = {
		"{}",
		"{ }",
		"{\"a\":1}",
		"{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":\"e\"}",
		"{\"a\":[]}",
		"{\"a\" : [ true , false ] }",
		"{\"\":\"\\u00e9\\n\\\"}\"}",
		"{\"n\":[0,-0,-1.5,1e5,1.0E-3,12345678901234567890]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!accepts(good[i]))
			fail_msg("%s was refused", good[i]);
}

static void
everything_else_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"}",
		"[]",
		"1",
		" {}",
		"{} ",
		"{}{}",
		"{,}",
		"{a:1}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\":[1,]}",
		"{\"a\":[1}",
		"{\"a\":(1]}",
		"{\"a\":01}",
		"{\"a\":+1}",
		"{\"a\":.5}",
		"{\"a\":1.}",
		"{\"a\":1e}",
		"{\"a\":tru}",
		"{\"a\":NaN}",
		"{\"a\":\"}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":\"\n\"}",
		"{\n}",
		"{'a':1}",
		"{\"a\":1}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (accepts(bad[i]))
			fail_msg("%s was accepted", bad[i]);
}

static void
depth_has_its_limit(void **state)
{
	char text[8 * LIMIT_JSON_DEPTH + 16];

	(void)state;
	for (size_t depth = 1; depth <= LIMIT_JSON_DEPTH + 1; depth++) {
		struct cursor_writer out = cursor_writer_of(text, sizeof(text));

		cursor_put_text(&out, "{\"a\":");
		for (size_t i = 1; i < depth; i++)
			cursor_put_text(&out, "[");
		cursor_put_text(&out, "1");
		for (size_t i = 1; i < depth; i++)
			cursor_put_text(&out, "]");
		cursor_put_text(&out, "}");
		assert_true(cursor_written(&out));
		assert_int_equal(jsontext_is_object(cursor_of(text, out.used)),
		    depth <= LIMIT_JSON_DEPTH);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_object_is_accepted),
		cmocka_unit_test(everything_else_is_refused),
		cmocka_unit_test(depth_has_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
