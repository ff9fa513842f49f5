#include "gateway/proto/jsonrpc.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct jsonrpc got;

static int
parse(const char *text)
{
	return jsonrpc_parse(cursor_of_text(text), &got);
}

static void
method_and_tool_of_a_message_are_read(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
			       "\"tools/call\",\"params\":{\"name\":\"x\"}}"),
	    STATUS_OK);
	assert_int_equal(got.count, 1);
	assert_string_equal(got.messages[0].method, "tools/call");
	assert_string_equal(got.messages[0].tool, "x");
	/* Only a call names a tool. */
	assert_int_equal(
	    parse("{\"method\":\"m\",\"params\":{\"name\":\"x\"}}"), STATUS_OK);
	assert_string_equal(got.messages[0].tool, "");
	/* An escape is what it stands for. */
	assert_int_equal(parse("{\"method\":\"tools\\u002fcall\",\"params\":{"
			       "\"n\\u0061me\":\"x\"}}"),
	    STATUS_OK);
	assert_string_equal(got.messages[0].tool, "x");
}

static void
answers_ask_for_nothing(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"id\":1,\"result\":{}}"), STATUS_OK);
	assert_int_equal(got.count, 0);
	assert_int_equal(parse("[]"), STATUS_OK);
	assert_int_equal(got.count, 0);
	assert_int_equal(
	    parse("[{\"id\":1,\"error\":{}},{\"method\":\"a\"}]"), STATUS_OK);
	assert_int_equal(got.count, 1);
}

static void
what_could_be_read_in_two_ways_is_no_message(void **state)
{
	static const char *const texts[] = { "", "x", "3", "\"a\"", "null",
		"{}", "{\"method\":3}", "{\"method\":\"\"}", "[[]]", "[3]",
		"{\"method\":\"a\",\"method\":\"b\"}",
		"{\"method\":\"a\"} {\"method\":\"b\"}", "{\"method\":\"a\"}x",
		"{\"method\":\"a\\u0000b\"}", "{'method':'a'}",
		"{\"method\":\"a\",}", "\xef\xbb\xbf{\"method\":\"a\"}",
		"{\"method\":\"\xff\"}", "{\"method\":\"tools/call\"}",
		"{\"method\":\"tools/call\",\"params\":[\"x\"]}",
		"{\"method\":\"tools/call\",\"params\":{\"name\":1}}" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (parse(texts[i]) != STATUS_MALFORMED)
			fail_msg("it was taken: %s", texts[i]);
}

static void
more_than_a_limit_is_too_long(void **state)
{
	char text[8192];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	static char big[LIMIT_MCP_BODY + 1];

	(void)state;
	cursor_put_text(&out, "[{\"method\":\"a\"}");
	for (int i = 0; i < LIMIT_MCP_BATCH; i++)
		cursor_put_text(&out, ",{\"method\":\"a\"}");
	cursor_put_text(&out, "]");
	assert_int_equal(
	    jsonrpc_parse(cursor_of(text, out.used), &got), STATUS_TOO_LONG);
	memset(text, 'a', sizeof(text));
	memcpy(text, "{\"method\":\"", 11);
	memcpy(text + 11 + LIMIT_MCP_NAME + 1, "\"}", 2);
	assert_int_equal(
	    jsonrpc_parse(cursor_of(text, 11 + LIMIT_MCP_NAME + 3), &got),
	    STATUS_TOO_LONG);
	assert_int_equal(
	    jsonrpc_parse(cursor_of(big, sizeof(big)), &got), STATUS_TOO_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(method_and_tool_of_a_message_are_read),
		cmocka_unit_test(answers_ask_for_nothing),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_no_message),
		cmocka_unit_test(more_than_a_limit_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
