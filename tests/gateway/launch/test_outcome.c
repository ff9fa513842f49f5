/* Tests of gateway/launch/outcome. */
#include "gateway/launch/outcome.h"
#include "schema/status.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* As waitpid() has them. */
#define EXITED(code) ((code) << 8)
#define SIGNALED(number) (number)

static json_t *
written(const struct outcome *outcome)
{
	int fd = memfd_create("result", MFD_CLOEXEC);
	char text[65536];
	ssize_t length;
	json_t *json;

	assert_int_equal(outcome_write(outcome, fd), STATUS_OK);
	length = pread(fd, text, sizeof(text), 0);
	assert_true(length > 0 && text[length - 1] == '\n');
	json = json_loadb(text, (size_t)length, 0, NULL);
	assert_non_null(json);
	(void)close(fd);
	return json;
}

static const char *
text_of(json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static void
codes_are_the_commands_own(void **state)
{
	static const int codes[] = { 0, 1, 42, 124, 125, 126, 127, 255 };

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct outcome outcome = { 0 };

		outcome_ended(&outcome, EXITED(codes[i]));
		assert_int_equal(outcome.code, codes[i]);
		assert_int_equal(outcome.end, OUTCOME_EXITED);
	}
}

static void
a_signal_is_128_and_its_number(void **state)
{
	struct outcome outcome = { 0 };
	json_t *json;

	(void)state;
	outcome_ended(&outcome, SIGNALED(15));
	assert_int_equal(outcome.code, 143);
	json = written(&outcome);
	assert_string_equal(text_of(json, "end"), "signaled");
	assert_int_equal(
	    json_integer_value(json_object_get(json, "signal")), 15);
	json_decref(json);
}

static void
time_and_a_lost_gateway_win_over_how_the_command_went(void **state)
{
	struct outcome timeout = { .end = OUTCOME_TIMEOUT };
	struct outcome lost = { .end = OUTCOME_GATEWAY_LOST };

	(void)state;
	outcome_ended(&timeout, SIGNALED(9));
	assert_int_equal(timeout.code, 124);
	outcome_ended(&lost, EXITED(0));
	assert_int_equal(lost.code, 137);
}

static void
a_failed_launch_says_where_why_and_what_to_do(void **state)
{
	struct outcome outcome = { 0 };
	struct problem problem = { .text = "no \"x\"\n", .cure = "do y" };
	json_t *json;

	(void)state;
	outcome_failed(&outcome, STAGE_NETWORK, 125, &problem);
	json = written(&outcome);
	assert_string_equal(text_of(json, "end"), "launch_failed");
	assert_string_equal(text_of(json, "stage"), "network");
	assert_string_equal(text_of(json, "error"), "no \"x\"\n");
	assert_string_equal(text_of(json, "cure"), "do y");
	assert_int_equal(
	    json_integer_value(json_object_get(json, "code")), 125);
	assert_true(json_is_null(json_object_get(json, "signal")));
	json_decref(json);
}

static void
lists_have_a_largest_size(void **state)
{
	struct outcome outcome = { 0 };
	json_t *json;

	(void)state;
	for (int i = 0; i < LIMIT_HIDDEN; i++)
		assert_int_equal(
		    outcome_add_hidden(&outcome, ".env"), STATUS_OK);
	assert_int_equal(outcome_add_hidden(&outcome, ".env"), STATUS_FULL);
	assert_int_equal(outcome_add_degraded(&outcome, "less"), STATUS_OK);
	json = written(&outcome);
	assert_int_equal(json_array_size(json_object_get(json, "hidden_files")),
	    LIMIT_HIDDEN);
	assert_int_equal(json_array_size(json_object_get(json, "degraded")), 1);
	json_decref(json);
	outcome_done(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_are_the_commands_own),
		cmocka_unit_test(a_signal_is_128_and_its_number),
		cmocka_unit_test(
		    time_and_a_lost_gateway_win_over_how_the_command_went),
		cmocka_unit_test(a_failed_launch_says_where_why_and_what_to_do),
		cmocka_unit_test(lists_have_a_largest_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
