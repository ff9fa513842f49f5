#include "gateway/run/approvals.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static struct approvals *approvals;
static unsigned overs;
static enum approval_end last_over;

struct waiter {
	struct approvals_wait wait;
	bool told;
	enum approval_end end;
};

static void
on_over(
    const struct approval_question *question, enum approval_end end, void *arg)
{
	(void)question;
	(void)arg;
	overs++;
	last_over = end;
}

static void
on_end(struct approvals_wait *wait, enum approval_end end)
{
	struct waiter *waiter = (struct waiter *)wait;

	assert_false(waiter->told);
	waiter->told = true;
	waiter->end = end;
}

static int
setup(void **state)
{
	(void)state;
	approvals = approvals_new("run-abcdefgh", on_over, NULL);
	overs = 0;
	return approvals == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	approvals_free(approvals);
	return 0;
}

static struct approval_question
question_of(const char *target)
{
	struct approval_question question = { .rule = "prod",
		.host = "a.test",
		.port = 443,
		.tls = true,
		.method = "POST",
		.timeout_s = 300,
		.grant_s = 60,
		.grant_uses = 3 };

	assert_true(snprintf(question.target, sizeof(question.target), "%s",
			target) > 0);
	return question;
}

static enum approvals_answer
ask(const char *target, int64_t now_us)
{
	struct approval_question question = question_of(target);

	return approvals_ask(approvals, &question, now_us);
}

static int
settle(const char *id, bool yes, int64_t now_us)
{
	struct approval_answer answer = { .yes = yes };

	assert_true(snprintf(answer.id, sizeof(answer.id), "%s", id) >= 0);
	return approvals_settle(approvals, &answer, now_us);
}

static struct waiter
waiting(const char *id)
{
	struct waiter waiter = { .wait = { .on_end = on_end } };

	(void)id;
	return waiter;
}

/* A01: 60 seconds and 3 uses; the one at 61 s and the fourth are asked. */
static void
yes_is_counted_down_and_runs_out(void **state)
{
	(void)state;
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
	assert_int_equal(settle("abcd-1", true, SECOND), STATUS_OK);
	assert_int_equal(last_over, APPROVAL_GRANTED);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask("/x", 2 * SECOND), APPROVALS_YES);
	assert_int_equal(ask("/x", 2 * SECOND), APPROVALS_NEW);
	assert_int_equal(settle("abcd-2", true, 3 * SECOND), STATUS_OK);
	assert_int_equal(ask("/x", 62 * SECOND), APPROVALS_YES);
	assert_int_equal(ask("/x", 63 * SECOND), APPROVALS_NEW);
}

/* Who only proposes uses nothing up, and is answered as things stand. */
static void
proposal_opens_a_question_and_takes_no_use(void **state)
{
	struct approval_question question = question_of("/x");

	(void)state;
	assert_int_equal(
	    approvals_propose(approvals, &question, 0), APPROVALS_NEW);
	assert_string_equal(question.id, "abcd-1");
	assert_int_equal(
	    approvals_propose(approvals, &question, 0), APPROVALS_WAIT);
	assert_int_equal(settle("abcd-1", true, 0), STATUS_OK);
	for (int i = 0; i < 9; i++)
		assert_int_equal(
		    approvals_propose(approvals, &question, 0), APPROVALS_YES);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask("/x", SECOND), APPROVALS_YES);
	assert_int_equal(
	    approvals_propose(approvals, &question, SECOND), APPROVALS_NEW);
	assert_int_equal(settle("abcd-2", false, SECOND), STATUS_OK);
	assert_int_equal(
	    approvals_propose(approvals, &question, SECOND), APPROVALS_NO);
}

static void
yes_is_good_for_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
	assert_int_equal(settle("abcd-1", true, 0), STATUS_OK);
	assert_int_equal(ask("/x?", 0), APPROVALS_NEW);
	assert_int_equal(ask("/y", 0), APPROVALS_NEW);
	assert_int_equal(ask("/x", 0), APPROVALS_YES);
}

/* P12: silence, late, repeated and unknown answers are a no. */
static void
late_repeated_and_unknown_answers_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(settle("abcd-1", true, 0), STATUS_NOT_FOUND);
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
	assert_int_equal(
	    settle("abcd-1", true, 300 * SECOND), STATUS_NOT_FOUND);
	assert_int_equal(last_over, APPROVAL_EXPIRED);
	assert_int_equal(ask("/x", 200 * SECOND), APPROVALS_NEW);
	assert_int_equal(settle("abcd-2", false, 200 * SECOND), STATUS_OK);
	assert_int_equal(
	    settle("abcd-2", true, 200 * SECOND), STATUS_NOT_FOUND);
	assert_int_equal(ask("/x", 201 * SECOND), APPROVALS_NO);
	assert_int_equal(settle("", true, 0), STATUS_NOT_FOUND);
	assert_int_equal(overs, 2);
}

static void
no_stands_for_a_while_and_then_asking_is_possible_again(void **state)
{
	(void)state;
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
	assert_int_equal(settle("abcd-1", false, 0), STATUS_OK);
	assert_int_equal(ask("/x", 59 * SECOND), APPROVALS_NO);
	assert_int_equal(ask("/x", 60 * SECOND), APPROVALS_NEW);
}

static void
same_question_waits_together_and_each_takes_a_use(void **state)
{
	struct waiter waiters[5];

	(void)state;
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
	for (size_t i = 0; i < 5; i++) {
		waiters[i] = waiting("abcd-1");
		if (i > 0)
			assert_int_equal(ask("/x", 0), APPROVALS_WAIT);
		assert_true(
		    approvals_join(approvals, "abcd-1", &waiters[i].wait));
	}
	approvals_leave(&waiters[0].wait);
	assert_int_equal(settle("abcd-1", true, 0), STATUS_OK);
	assert_false(waiters[0].told);
	for (size_t i = 1; i < 5; i++)
		assert_int_equal(waiters[i].end,
		    i < 4 ? APPROVAL_GRANTED : APPROVAL_REFUSED);
	assert_int_equal(overs, 1);
}

static void
policy_change_ends_every_question_and_every_answer(void **state)
{
	struct waiter waiter = waiting("abcd-2");

	(void)state;
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
	assert_int_equal(settle("abcd-1", true, 0), STATUS_OK);
	assert_int_equal(ask("/y", 0), APPROVALS_NEW);
	assert_true(approvals_join(approvals, "abcd-2", &waiter.wait));
	approvals_clear(approvals);
	assert_int_equal(waiter.end, APPROVAL_REPLACED);
	assert_int_equal(settle("abcd-2", true, 0), STATUS_NOT_FOUND);
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
}

static void
answer_gives_no_more_than_the_rule(void **state)
{
	struct approval_question question = question_of("/x");
	struct approval_answer answer = { .id = "abcd-1",
		.yes = true,
		.grant_s = 100000,
		.grant_uses = 100000 };

	(void)state;
	assert_int_equal(approvals_ask(approvals, &question, 0), APPROVALS_NEW);
	assert_int_equal(approvals_settle(approvals, &answer, 0), STATUS_OK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask("/x", 0), APPROVALS_YES);
	assert_int_equal(ask("/x", 0), APPROVALS_NEW);
}

static void
too_many_questions_are_not_asked(void **state)
{
	char target[32];

	(void)state;
	for (int i = 0; i < LIMIT_QUESTIONS; i++) {
		assert_true(snprintf(target, sizeof(target), "/%d", i) > 0);
		assert_int_equal(ask(target, 0), APPROVALS_NEW);
	}
	assert_int_equal(ask("/more", 0), APPROVALS_FULL);
	assert_true(approvals_deadline(approvals) == 300 * SECOND);
	approvals_drop(approvals, "abcd-1");
	assert_int_equal(ask("/more", 0), APPROVALS_NEW);
	approvals_expire(approvals, 300 * SECOND);
	assert_int_equal(overs, LIMIT_QUESTIONS + 1);
	assert_true(approvals_deadline(approvals) == INT64_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(yes_is_counted_down_and_runs_out),
		TEST(proposal_opens_a_question_and_takes_no_use),
		TEST(yes_is_good_for_nothing_else),
		TEST(late_repeated_and_unknown_answers_change_nothing),
		TEST(no_stands_for_a_while_and_then_asking_is_possible_again),
		TEST(same_question_waits_together_and_each_takes_a_use),
		TEST(policy_change_ends_every_question_and_every_answer),
		TEST(answer_gives_no_more_than_the_rule),
		TEST(too_many_questions_are_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
