#include "broker/fetch/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is wanted, by paths; the names are the same. */
static struct errand
wanting(const char *const *paths)
{
	struct errand errand = { .want_count = 0 };

	for (; *paths != NULL; paths++) {
		errand.wants[errand.want_count].name = cursor_of_text(*paths);
		errand.wants[errand.want_count].path = cursor_of_text(*paths);
		errand.want_count++;
	}
	return errand;
}

static struct errand_answer
read_text(struct answer *answer, const char *text, unsigned status,
    const char *const *paths)
{
	struct errand errand = wanting(paths);
	struct errand_answer ret = { .number = 0 };

	answer_read(answer, cursor_of_text(text), status, &errand, &ret);
	return ret;
}

static void
assert_value(
    const struct errand_answer *answer, const char *name, const char *wanted)
{
	struct cursor value;

	assert_true(errand_answer_find(answer, name, &value));
	if (!cursor_equals(value, wanted))
		fail_msg("%s is %.*s", name, (int)value.left,
		    (const char *)value.at);
}

static void
values_are_found_by_their_paths(void **state)
{
	static const char *const paths[] = { "access_token", "expires_in",
		"a/b/c", "errors/1", "when", "yes", "absent", "a/none/c",
		"null", NULL };
	struct answer answer = { .json = NULL };
	struct errand_answer read = read_text(&answer,
	    "{\"access_token\":\"abc\",\"expires_in\":3600,"
	    "\"a\":{\"b\":{\"c\":\"deep\"}},\"errors\":[\"x\",\"y\"],"
	    "\"when\":1.6E9,\"yes\":true,\"null\":null}",
	    200, paths);

	(void)state;
	assert_int_equal(read.end, ERRAND_ANSWERED);
	assert_int_equal(read.value_count, 6);
	assert_value(&read, "access_token", "abc");
	assert_value(&read, "expires_in", "3600");
	assert_value(&read, "a/b/c", "deep");
	assert_value(&read, "errors/1", "y");
	assert_value(&read, "when", "1600000000");
	assert_value(&read, "yes", "true");
	answer_done(&answer);
}

static void
an_answer_that_is_not_what_it_should_be_is_refused(void **state)
{
	static const char *const bad[] = { "", "abc", "[1]", "\"access_token\"",
		"{\"access_token\":\"a\"", "{\"access_token\":\"a\"} x",
		"{\"access_token\":\"a\",\"access_token\":\"b\"}",
		"{\"access_token\":{\"a\":1}}", "{\"access_token\":[\"a\"]}",
		"{\"access_token\":\"a\\r\\nx\"}",
		"{\"access_token\":\"a\\u0000b\"}",
		"{\"access_token\":\"\x80\"}" };
	static const char *const paths[] = { "access_token", NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct answer answer = { .json = NULL };
		struct errand_answer read =
		    read_text(&answer, bad[i], 200, paths);

		if (read.end != ERRAND_NOT_JSON)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(read.value_count, 0);
		answer_done(&answer);
	}
}

static void
of_a_failure_whatever_can_be_read_is_taken(void **state)
{
	static const char *const paths[] = { "error", "error_description",
		"error/message", NULL };
	struct answer answer = { .json = NULL };
	struct errand_answer read = read_text(&answer,
	    "{\"error\":\"invalid_grant\",\"error_description\":\"gone\"}", 400,
	    paths);

	(void)state;
	assert_int_equal(read.end, ERRAND_ANSWERED);
	assert_value(&read, "error", "invalid_grant");
	assert_value(&read, "error_description", "gone");
	answer_done(&answer);
	read = read_text(
	    &answer, "{\"error\":{\"message\":\"denied\"}}", 403, paths);
	assert_int_equal(read.value_count, 1);
	assert_value(&read, "error/message", "denied");
	answer_done(&answer);
	read = read_text(&answer, "<html>no</html>", 502, paths);
	assert_int_equal(read.end, ERRAND_ANSWERED);
	assert_int_equal(read.value_count, 0);
	answer_done(&answer);
}

static void
nothing_is_read_where_nothing_is_wanted(void **state)
{
	static const char *const paths[] = { NULL };
	struct answer answer = { .json = NULL };
	struct errand_answer read = read_text(&answer, "", 204, paths);

	(void)state;
	assert_int_equal(read.end, ERRAND_ANSWERED);
	answer_done(&answer);
}

static void
values_that_would_not_fit_a_frame_are_refused(void **state)
{
	static char text[LIMIT_ERRAND_VALUES + 64];
	static const char *const paths[] = { "access_token", NULL };
	struct answer answer = { .json = NULL };
	struct errand_answer read;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "{\"access_token\":\"", 17);
	memcpy(text + sizeof(text) - 3, "\"}", 3);
	read = read_text(&answer, text, 200, paths);
	assert_int_equal(read.end, ERRAND_TOO_LONG);
	assert_int_equal(read.value_count, 0);
	answer_done(&answer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_found_by_their_paths),
		cmocka_unit_test(
		    an_answer_that_is_not_what_it_should_be_is_refused),
		cmocka_unit_test(of_a_failure_whatever_can_be_read_is_taken),
		cmocka_unit_test(nothing_is_read_where_nothing_is_wanted),
		cmocka_unit_test(values_that_would_not_fit_a_frame_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
