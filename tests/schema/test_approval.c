#include "schema/approval.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct approval_question question = { .id = "abcd-1",
	.rule = "prod",
	.policy = { 1, 2, 3 },
	.host = "api.example.com",
	.port = 443,
	.tls = true,
	.method = "POST",
	.upgrade = "",
	.target = "/merge?id=1",
	.program = "/usr/bin/curl",
	.words = "let me",
	.timeout_s = 300,
	.grant_s = 900,
	.grant_uses = 3 };

static void
question_is_read_as_it_was_written(void **state)
{
	unsigned char room[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct approval_question read = { .port = 0 };

	(void)state;
	approval_question_write(&question, &out);
	assert_true(cursor_written(&out));
	assert_int_equal(
	    approval_question_read(cursor_of(room, out.used), &read),
	    STATUS_OK);
	assert_string_equal(read.id, question.id);
	assert_true(approval_is_same(&read, &question));
	assert_string_equal(read.program, question.program);
	assert_string_equal(read.words, question.words);
	assert_int_equal(read.timeout_s, 300);
	assert_int_equal(read.grant_s, 900);
	assert_int_equal(read.grant_uses, 3);
	for (size_t cut = 0; cut < out.used; cut++)
		assert_int_equal(
		    approval_question_read(cursor_of(room, cut), &read),
		    STATUS_MALFORMED);
	assert_int_equal(
	    approval_question_read(cursor_of(room, out.used + 1), &read),
	    STATUS_MALFORMED);
}

static void
every_part_of_what_is_asked_tells_two_questions_apart(void **state)
{
	struct approval_question other[9];

	(void)state;
	for (size_t i = 0; i < 9; i++)
		other[i] = question;
	other[0].id[0] = 'x';
	other[0].timeout_s = 0;
	other[0].grant_uses = 1;
	other[0].program[0] = 'x';
	other[0].words[0] = 'x';
	assert_true(approval_is_same(&question, &other[0]));
	other[1].rule[0] = 'x';
	other[2].policy[31] = 1;
	other[3].host[0] = 'x';
	other[4].port = 80;
	other[5].tls = false;
	other[6].method[0] = 'x';
	other[7].upgrade[0] = 'x';
	other[8].target[10] = '2';
	for (size_t i = 1; i < 9; i++)
		assert_false(approval_is_same(&question, &other[i]));
}

static void
answer_is_yes_or_no_and_nothing_else(void **state)
{
	struct approval_answer answer = { .id = "abcd-1",
		.yes = true,
		.grant_s = 60,
		.grant_uses = 3,
		.by = "somebody" };
	struct approval_answer read;
	unsigned char room[512];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));

	(void)state;
	approval_answer_write(&answer, &out);
	assert_int_equal(
	    approval_answer_read(cursor_of(room, out.used), &read), STATUS_OK);
	assert_true(read.yes);
	assert_string_equal(read.by, "somebody");
	/* P12: the byte behind the id's block. */
	for (unsigned flag = 2; flag < 256; flag++) {
		room[8] = (unsigned char)flag;
		assert_int_equal(
		    approval_answer_read(cursor_of(room, out.used), &read),
		    STATUS_MALFORMED);
	}
	room[8] = 0;
	assert_int_equal(
	    approval_answer_read(cursor_of(room, out.used), &read), STATUS_OK);
	assert_false(read.yes);
}

static void
end_that_is_in_no_list_is_malformed(void **state)
{
	struct approval_over over = { .id = "abcd-1",
		.end = APPROVAL_REPLACED };
	struct approval_over read;
	unsigned char room[64];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));

	(void)state;
	approval_over_write(&over, &out);
	assert_int_equal(
	    approval_over_read(cursor_of(room, out.used), &read), STATUS_OK);
	assert_int_equal(read.end, APPROVAL_REPLACED);
	room[8] = APPROVAL_END_COUNT;
	assert_int_equal(approval_over_read(cursor_of(room, out.used), &read),
	    STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(question_is_read_as_it_was_written),
		cmocka_unit_test(
		    every_part_of_what_is_asked_tells_two_questions_apart),
		cmocka_unit_test(answer_is_yes_or_no_and_nothing_else),
		cmocka_unit_test(end_that_is_in_no_list_is_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
