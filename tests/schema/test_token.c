#include "schema/token.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct token sample = { .id = "AAAAAAAAAAAAAAAAAAAAAQ",
	.parent = "AAAAAAAAAAAAAAAAAAAAAg",
	.root = "AAAAAAAAAAAAAAAAAAAAAw",
	.depth = 2,
	.subject = "agent:coder",
	.client = "agent:tester",
	.actors = 1,
	.actor = { "agent:tester" },
	.audience = "http://exeat.internal",
	.scope = "cred:git",
	.run = "run-1",
	.issued_s = 10,
	.starts_s = 0,
	.expires_s = 20 };

static unsigned char bytes[LIMIT_FRAME];

static void
an_answer_is_read_as_it_was_written_and_no_shorter(void **state)
{
	struct token_answer answer = {
		.number = 7, .token = sample, .text = cursor_of_text("a.b.c")
	};
	struct token_answer got = { .number = 0 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	token_answer_write(&answer, &out);
	assert_true(cursor_written(&out));
	for (size_t cut = 0; cut < out.used; cut++)
		assert_int_equal(token_answer_read(cursor_of(bytes, cut), &got),
		    STATUS_MALFORMED);
	assert_int_equal(
	    token_answer_read(cursor_of(bytes, out.used + 1), &got),
	    STATUS_MALFORMED);
	assert_int_equal(got.number, 0);
	assert_int_equal(
	    token_answer_read(cursor_of(bytes, out.used), &got), STATUS_OK);
	assert_int_equal(got.number, 7);
	assert_string_equal(got.token.actor[0], "agent:tester");
	assert_int_equal(got.token.expires_s, 20);
	assert_true(cursor_equals(got.text, "a.b.c"));
}

static void
a_question_is_read_as_it_was_written_and_no_shorter(void **state)
{
	struct token_question question = { .number = 3,
		.act = TOKEN_EXCHANGE,
		.client = "tester",
		.scope = "cred:git",
		.life_s = 60,
		.subject = cursor_of_text("a.b.c"),
		.actor = cursor_of_text("d.e.f") };
	struct token_question got = { .number = 0 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	token_question_write(&question, &out);
	for (size_t cut = 0; cut < out.used; cut++)
		assert_int_equal(
		    token_question_read(cursor_of(bytes, cut), &got),
		    STATUS_MALFORMED);
	assert_int_equal(
	    token_question_read(cursor_of(bytes, out.used), &got), STATUS_OK);
	assert_int_equal(got.act, TOKEN_EXCHANGE);
	assert_int_equal(got.life_s, 60);
	assert_true(cursor_equals(got.actor, "d.e.f"));
	bytes[4] = TOKEN_ACT_COUNT;
	assert_int_equal(token_question_read(cursor_of(bytes, out.used), &got),
	    STATUS_MALFORMED);
}

static void
a_refusal_is_read_as_it_was_written_and_no_shorter(void **state)
{
	struct token_refusal refusal = { .number = 3,
		.error = TOKEN_INVALID_TARGET,
		.reason = REASON_WRONG_AUDIENCE,
		.why = "no" };
	struct token_refusal got = { .number = 0 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	token_refusal_write(&refusal, &out);
	for (size_t cut = 0; cut < out.used; cut++)
		assert_int_equal(
		    token_refusal_read(cursor_of(bytes, cut), &got),
		    STATUS_MALFORMED);
	assert_int_equal(
	    token_refusal_read(cursor_of(bytes, out.used), &got), STATUS_OK);
	assert_int_equal(got.error, TOKEN_INVALID_TARGET);
	assert_int_equal(got.reason, REASON_WRONG_AUDIENCE);
	assert_string_equal(got.why, "no");
	bytes[4] = TOKEN_ERROR_COUNT;
	assert_int_equal(token_refusal_read(cursor_of(bytes, out.used), &got),
	    STATUS_MALFORMED);
}

static void
a_root_has_no_parent_and_is_its_own_root(void **state)
{
	struct token_root root = { .token = sample, .slot = 300 }, got;
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	token_root_write(&root, &out);
	assert_int_equal(token_root_read(cursor_of(bytes, out.used), &got),
	    STATUS_MALFORMED);
	root.token.depth = 0;
	root.token.actors = 0;
	root.token.parent[0] = '\0';
	assert_false(token_is_sound(&root.token));
	memcpy(root.token.root, root.token.id, sizeof(root.token.root));
	assert_true(token_is_sound(&root.token));
	out = cursor_writer_of(bytes, sizeof(bytes));
	token_root_write(&root, &out);
	assert_int_equal(
	    token_root_read(cursor_of(bytes, out.used), &got), STATUS_OK);
	assert_int_equal(got.slot, 300);
}

static void
every_error_has_the_name_of_its_rfc(void **state)
{
	(void)state;
	assert_string_equal(
	    token_error_name(TOKEN_INVALID_TARGET), "invalid_target");
	for (int error = 0; error < TOKEN_ERROR_COUNT; error++)
		assert_non_null(token_error_name((enum token_error)error));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    an_answer_is_read_as_it_was_written_and_no_shorter),
		cmocka_unit_test(
		    a_question_is_read_as_it_was_written_and_no_shorter),
		cmocka_unit_test(
		    a_refusal_is_read_as_it_was_written_and_no_shorter),
		cmocka_unit_test(a_root_has_no_parent_and_is_its_own_root),
		cmocka_unit_test(every_error_has_the_name_of_its_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
