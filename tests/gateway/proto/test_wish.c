#include "gateway/proto/wish.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct wish got;
static const char *fault;

static int
parse(const char *text)
{
	fault = NULL;
	return wish_parse(cursor_of_text(text), &got, &fault);
}

static void
request_and_reason_are_read(void **state)
{
	(void)state;
	assert_int_equal(
	    parse("{\"why\":\"all tests\\n pass\",\"method\":\"POST\","
		  "\"url\":\"https://a.test/merge/1?x=2\"}"),
	    STATUS_OK);
	assert_string_equal(got.request, "POST https://a.test/merge/1?x=2");
	assert_string_equal(got.why, "all tests\n pass");
}

static void
only_the_url_must_be_there(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"url\":\"https://a.test/\"}"), STATUS_OK);
	assert_string_equal(got.request, "GET https://a.test/");
	assert_string_equal(got.why, "");
	assert_int_equal(
	    parse("{\"url\":\"https://a.test/\",\"upgrade\":\"websocket\"}"),
	    STATUS_OK);
	assert_string_equal(
	    got.request, "GET https://a.test/ upgrade=websocket");
}

static void
what_is_no_wish_is_told_what_one_is(void **state)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{ "", "no JSON" },
		{ "url=https://a.test/", "no JSON" },
		{ "{\"url\":\"a\"} x", "no JSON" },
		{ "{\"url\":\"a\",\"url\":\"b\"}", "no JSON" },
		{ "[]", "one JSON object" },
		{ "{}", "\"url\"" },
		{ "{\"url\":\"a\",\"uri\":\"b\"}", "one JSON object" },
		{ "{\"url\":3}", "\"url\"" },
		{ "{\"url\":\"\"}", "\"url\"" },
		{ "{\"url\":\"https://a b/\"}", "\"url\"" },
		{ "{\"url\":\"https://a/\\u00e9\"}", "\"url\"" },
		{ "{\"url\":\"https://a/\\n\"}", "\"url\"" },
		{ "{\"url\":\"a\",\"method\":\"\"}", "\"method\"" },
		{ "{\"url\":\"a\",\"method\":\"@hello!\"}", "\"method\"" },
		{ "{\"url\":\"a\",\"method\":\"A B\"}", "\"method\"" },
		{ "{\"url\":\"a\",\"method\":null}", "\"method\"" },
		{ "{\"url\":\"a\",\"upgrade\":\"w exe=/x\"}", "\"upgrade\"" },
		{ "{\"url\":\"a\",\"why\":[]}", "\"why\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&got, 'x', sizeof(got));
		assert_int_equal(parse(cases[i].text), STATUS_MALFORMED);
		assert_non_null(strstr(fault, cases[i].word));
		assert_int_equal(got.request[0], 'x');
	}
}

static void
what_no_person_would_read_is_too_long(void **state)
{
	static char text[2 * LIMIT_WISH];
	int used = snprintf(text, sizeof(text),
	    "{\"url\":\"https://a.test/\",\"why\":\"%0*d\"}", LIMIT_ASK_WORDS,
	    0);

	(void)state;
	assert_true(used > 0);
	assert_int_equal(parse(text), STATUS_OK);
	assert_int_equal(strlen(got.why), LIMIT_ASK_WORDS);
	(void)snprintf(text, sizeof(text),
	    "{\"url\":\"https://a.test/\",\"why\":\"%0*d\"}",
	    LIMIT_ASK_WORDS + 1, 0);
	assert_int_equal(parse(text), STATUS_TOO_LONG);
	(void)snprintf(text, sizeof(text), "{\"url\":\"%0*d\"}",
	    LIMIT_ASK_TARGET + LIMIT_HOST + 1, 0);
	assert_int_equal(parse(text), STATUS_TOO_LONG);
	assert_non_null(strstr(fault, "\"url\""));
	(void)snprintf(text, sizeof(text),
	    "{\"url\":\"a\",\"method\":\"%0*d\"}", LIMIT_HTTP_METHOD + 1, 0);
	assert_int_equal(parse(text), STATUS_TOO_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_and_reason_are_read),
		cmocka_unit_test(only_the_url_must_be_there),
		cmocka_unit_test(what_is_no_wish_is_told_what_one_is),
		cmocka_unit_test(what_no_person_would_read_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
