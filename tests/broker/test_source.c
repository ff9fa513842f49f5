#include "broker/source.h"
#include "schema/secret.h"
#include "tests/broker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct problem problem;

static int
read_text(const char *text, mode_t mode, struct secret **ret)
{
	int fd = stage_file(text, mode), status;

	problem.text[0] = problem.cure[0] = '\0';
	status = source_read(BROKERAGE_FILE, fd, ret, &problem);
	(void)close(fd);
	return status;
}

static void
one_line_end_is_not_part_of_it(void **state)
{
	struct secret *secret = NULL;

	(void)state;
	assert_int_equal(read_text("key\n", 0600, &secret), STATUS_OK);
	assert_true(secret_equals(secret, cursor_of_text("key")));
	assert_false(secret_equals(secret, cursor_of_text("kez")));
	assert_false(secret_equals(secret, cursor_of_text("ke")));
	secret_free(secret);
	assert_int_equal(read_text("key\n\n", 0400, &secret), STATUS_OK);
	assert_true(secret_equals(secret, cursor_of_text("key\n")));
	assert_false(secret_is_text(secret));
	secret_free(secret);
}

static void
nothing_is_no_secret(void **state)
{
	struct secret *secret = NULL;

	(void)state;
	assert_int_equal(read_text("", 0600, &secret), STATUS_PROBLEM);
	assert_string_equal(problem.text, "it is empty");
	assert_int_equal(read_text("\n", 0600, &secret), STATUS_PROBLEM);
	assert_null(secret);
}

static void
a_file_that_others_can_read_is_refused(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0660, 0644, 0610 };
	struct secret *secret = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(
		    read_text("key", modes[i], &secret), STATUS_PROBLEM);
		assert_string_equal(problem.text, "it is open to others");
		assert_string_equal(problem.cure, "chmod 600 it");
	}
	assert_null(secret);
}

static void
only_a_plain_file_is_a_file(void **state)
{
	struct secret *secret = NULL;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], "key", 3), 3);
	(void)close(fds[1]);
	assert_int_equal(source_read(BROKERAGE_FILE, fds[0], &secret, &problem),
	    STATUS_PROBLEM);
	assert_string_equal(problem.text, "it is not a plain file");
	/* A descriptor that somebody hands over may be a pipe. */
	assert_int_equal(
	    source_read(BROKERAGE_FD, fds[0], &secret, &problem), STATUS_OK);
	assert_true(secret_equals(secret, cursor_of_text("key")));
	secret_free(secret);
	(void)close(fds[0]);
}

static void
what_is_too_long_is_refused(void **state)
{
	char *text = malloc(LIMIT_SECRET + 2);
	struct secret *secret = NULL;

	(void)state;
	memset(text, 'a', LIMIT_SECRET + 1);
	text[LIMIT_SECRET] = '\0';
	assert_int_equal(read_text(text, 0600, &secret), STATUS_PROBLEM);
	text[LIMIT_SECRET - 1] = '\0';
	assert_int_equal(read_text(text, 0600, &secret), STATUS_OK);
	secret_free(secret);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_line_end_is_not_part_of_it),
		cmocka_unit_test(nothing_is_no_secret),
		cmocka_unit_test(a_file_that_others_can_read_is_refused),
		cmocka_unit_test(only_a_plain_file_is_a_file),
		cmocka_unit_test(what_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
