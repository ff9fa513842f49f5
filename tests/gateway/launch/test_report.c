/* Tests of gateway/launch/report. */
#include "gateway/launch/report.h"
#include "gateway/proc/fdpass.h"
#include "schema/handoff.h"
#include "schema/status.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int pair[2];

static int
set_up(void **state)
{
	(void)state;
	return fdpass_pair(pair) == STATUS_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}

static void
a_failure_arrives_with_stage_words_and_code(void **state)
{
	struct report sent = {
		.kind = REPORT_FAILED, .stage = STAGE_PROC, .value = 125
	};
	struct report got;
	struct fdpass fds;

	(void)state;
	(void)problem_set(&sent.problem, "cannot");
	(void)problem_cure(&sent.problem, "do");
	assert_int_equal(report_send(pair[1], &sent, NULL), STATUS_OK);
	assert_int_equal(report_receive(pair[0], &got, &fds), STATUS_OK);
	assert_int_equal(got.kind, REPORT_FAILED);
	assert_string_equal(stage_name(got.stage), "proc");
	assert_int_equal(got.value, 125);
	assert_string_equal(got.problem.text, "cannot");
	assert_string_equal(got.problem.cure, "do");
	assert_int_equal(fds.count, 0);
}

static void
the_longest_words_fit(void **state)
{
	struct report sent = { .kind = REPORT_FAILED };
	struct report got;
	struct fdpass fds;

	(void)state;
	memset(sent.problem.text, 'x', sizeof(sent.problem.text) - 1);
	memset(sent.problem.cure, 'y', sizeof(sent.problem.cure) - 1);
	assert_int_equal(report_send(pair[1], &sent, NULL), STATUS_OK);
	assert_int_equal(report_receive(pair[0], &got, &fds), STATUS_OK);
	assert_string_equal(got.problem.text, sent.problem.text);
	assert_string_equal(got.problem.cure, sent.problem.cure);
}

static void
descriptors_ride_where_they_belong_and_nowhere_else(void **state)
{
	struct report sent = { .kind = REPORT_TRUST };
	struct report got = { .value = 7 };
	struct fdpass fds;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int trust[HANDOFF_TRUST_COUNT] = { null, null };
	/* A signal, as report_send() writes it, but with a descriptor. */
	static const unsigned char forged[] = { REPORT_SIGNAL, 0, 0, 0, 0, 9, 0,
		0, 0, 0 };

	(void)state;
	assert_int_equal(report_send(pair[1], &sent, trust), STATUS_OK);
	assert_int_equal(report_receive(pair[0], &got, &fds), STATUS_OK);
	assert_int_equal(fds.count, HANDOFF_TRUST_COUNT);
	fdpass_done(&fds);
	assert_int_equal(
	    fdpass_send(pair[1], forged, sizeof(forged), &null, 1), STATUS_OK);
	got.value = 7;
	assert_int_equal(report_receive(pair[0], &got, &fds), STATUS_MALFORMED);
	assert_int_equal(got.value, 7);
	(void)close(null);
}

static void
what_does_not_read_is_refused(void **state)
{
	static const unsigned char packets[][12] = {
		{ REPORT_COUNT, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, /* kind */
		{ REPORT_ENDED, STAGE_COUNT, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ REPORT_ENDED, 0, 0, 0, 0, 0, 0, 9, 0, 0 }, /* length */
		{ REPORT_ENDED, 0, 0, 0, 0, 0, 0, 1, 0, 0 }, /* NUL */
	};
	/* One byte too many, behind what reads well. */
	static const unsigned char longer[] = { REPORT_ENDED, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 'x' };
	struct report got;
	struct fdpass fds;

	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		assert_int_equal(
		    fdpass_send(pair[1], packets[i], 10, NULL, 0), STATUS_OK);
		assert_int_equal(
		    report_receive(pair[0], &got, &fds), STATUS_MALFORMED);
	}
	assert_int_equal(
	    fdpass_send(pair[1], longer, sizeof(longer), NULL, 0), STATUS_OK);
	assert_int_equal(report_receive(pair[0], &got, &fds), STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_failure_arrives_with_stage_words_and_code, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    the_longest_words_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    descriptors_ride_where_they_belong_and_nowhere_else, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    what_does_not_read_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
