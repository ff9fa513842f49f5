#include "schema/reins.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct cursor_writer
write_exec(unsigned char *bytes, size_t size, uint16_t count)
{
	static const unsigned char argv[] = { 0, 2, 'l', 's', 0, 0 };
	struct cursor_writer out = cursor_writer_of(bytes, size);
	struct reins_exec exec = { .terminal = true,
		.rows = 24,
		.columns = 80,
		.cwd = "/ws",
		.argv = cursor_of(argv, sizeof(argv)),
		.count = count };

	reins_exec_write(&exec, &out);
	return out;
}

static void
an_exec_is_read_as_it_was_written(void **state)
{
	unsigned char bytes[64];
	struct cursor_writer out = write_exec(bytes, sizeof(bytes), 2);
	struct reins_exec exec;
	struct cursor word;

	(void)state;
	assert_int_equal(
	    reins_exec_read(cursor_of(bytes, out.used), &exec), STATUS_OK);
	assert_true(exec.terminal);
	assert_int_equal(exec.rows, 24);
	assert_int_equal(exec.columns, 80);
	assert_string_equal(exec.cwd, "/ws");
	assert_true(cursor_block(&exec.argv, &word));
	assert_true(cursor_equals(word, "ls"));
	assert_true(cursor_block(&exec.argv, &word));
	assert_int_equal(word.left, 0);
}

static void
an_exec_that_is_cut_or_counts_wrong_is_refused(void **state)
{
	unsigned char bytes[64];
	struct cursor_writer out = write_exec(bytes, sizeof(bytes), 2);
	struct reins_exec exec = { .count = 77 };

	(void)state;
	for (size_t length = 0; length < out.used; length++)
		assert_int_equal(
		    reins_exec_read(cursor_of(bytes, length), &exec),
		    STATUS_MALFORMED);
	for (uint16_t count = 0; count < 4; count++) {
		if (count == 2)
			continue;
		out = write_exec(bytes, sizeof(bytes), count);
		assert_int_equal(
		    reins_exec_read(cursor_of(bytes, out.used), &exec),
		    STATUS_MALFORMED);
	}
	assert_int_equal(exec.count, 77);
}

static void
a_nul_inside_an_argument_is_refused(void **state)
{
	unsigned char bytes[64];
	struct cursor_writer out = write_exec(bytes, sizeof(bytes), 2);
	struct reins_exec exec;

	(void)state;
	bytes[out.used - 3] = '\0';
	assert_int_equal(reins_exec_read(cursor_of(bytes, out.used), &exec),
	    STATUS_MALFORMED);
}

static void
answers_are_read_as_they_were_written(void **state)
{
	unsigned char bytes[256];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct reins_done done = { .number = 7,
		.problem = { .text = "no", .cure = "yes" } };
	struct reins_done done_read;
	struct reins_exited exited = { 7, 255 }, exited_read;
	uint32_t number = 0;

	(void)state;
	reins_done_write(&done, &out);
	assert_int_equal(
	    reins_done_read(cursor_of(bytes, out.used), &done_read), STATUS_OK);
	assert_int_equal(done_read.number, 7);
	assert_string_equal(done_read.problem.text, "no");
	out = cursor_writer_of(bytes, sizeof(bytes));
	reins_exited_write(&exited, &out);
	assert_int_equal(
	    reins_exited_read(cursor_of(bytes, out.used), &exited_read),
	    STATUS_OK);
	assert_int_equal(exited_read.code, 255);
	exited.code = 256;
	out = cursor_writer_of(bytes, sizeof(bytes));
	reins_exited_write(&exited, &out);
	assert_int_equal(
	    reins_exited_read(cursor_of(bytes, out.used), &exited_read),
	    STATUS_MALFORMED);
	assert_int_equal(
	    reins_number_read(cursor_of(bytes, 4), &number), STATUS_OK);
	assert_int_equal(number, 7);
	assert_int_equal(
	    reins_number_read(cursor_of(bytes, 5), &number), STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exec_is_read_as_it_was_written),
		cmocka_unit_test(
		    an_exec_that_is_cut_or_counts_wrong_is_refused),
		cmocka_unit_test(a_nul_inside_an_argument_is_refused),
		cmocka_unit_test(answers_are_read_as_they_were_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
