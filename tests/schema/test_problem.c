#include "schema/problem.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
a_problem_has_a_text_and_a_cure(void **state)
{
	struct problem problem = { .line = 77 };

	(void)state;
	assert_int_equal(
	    problem_set(&problem, "no %s at %d", "rule", 3), STATUS_PROBLEM);
	assert_string_equal(problem.text, "no rule at 3");
	assert_string_equal(problem.cure, "");
	assert_int_equal(problem.line, 0);
	assert_int_equal(
	    problem_cure(&problem, "add %s", "one"), STATUS_PROBLEM);
	assert_string_equal(problem.text, "no rule at 3");
	assert_string_equal(problem.cure, "add one");
}

static void
errno_is_told_in_words_and_kept(void **state)
{
	struct problem problem;

	(void)state;
	errno = ENOENT;
	assert_int_equal(
	    problem_errno(&problem, "cannot open %s", "x"), STATUS_PROBLEM);
	assert_string_equal(
	    problem.text, "cannot open x: No such file or directory");
	assert_int_equal(errno, ENOENT);
	errno = 123456;
	assert_int_equal(problem_errno(&problem, "odd"), STATUS_PROBLEM);
	assert_string_equal(problem.text, "odd: unknown error");
}

static void
nobody_to_tell_is_still_a_problem(void **state)
{
	(void)state;
	assert_int_equal(problem_set(NULL, "x"), STATUS_PROBLEM);
	assert_int_equal(problem_errno(NULL, "x"), STATUS_PROBLEM);
	assert_int_equal(problem_cure(NULL, "x"), STATUS_PROBLEM);
}

static void
a_long_text_loses_its_end_only(void **state)
{
	char text[2 * PROBLEM_TEXT_MAX];
	struct problem problem;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	errno = EPERM;
	assert_int_equal(problem_errno(&problem, "%s", text), STATUS_PROBLEM);
	assert_int_equal(strlen(problem.text), PROBLEM_TEXT_MAX - 1);
	assert_int_equal(problem_cure(&problem, "%s", text), STATUS_PROBLEM);
	assert_int_equal(strlen(problem.cure), PROBLEM_CURE_MAX - 1);
}

static void
more_problems_than_are_kept_are_counted(void **state)
{
	struct problems problems = { 0 };
	struct problem problem = { .text = "x" };

	(void)state;
	assert_false(problems_any(&problems));
	for (unsigned i = 0; i < LIMIT_PROBLEMS + 5; i++) {
		problem.line = i;
		problems_add(&problems, &problem);
		assert_true(problems_any(&problems));
	}
	assert_int_equal(problems.count, LIMIT_PROBLEMS);
	assert_int_equal(problems.dropped, 5);
	assert_int_equal(problems.list[0].line, 0);
	assert_int_equal(
	    problems.list[LIMIT_PROBLEMS - 1].line, LIMIT_PROBLEMS - 1);
	problems_done(&problems);
	assert_false(problems_any(&problems));
	problems_done(&problems);
	problems_done(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_problem_has_a_text_and_a_cure),
		cmocka_unit_test(errno_is_told_in_words_and_kept),
		cmocka_unit_test(nobody_to_tell_is_still_a_problem),
		cmocka_unit_test(a_long_text_loses_its_end_only),
		cmocka_unit_test(more_problems_than_are_kept_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
