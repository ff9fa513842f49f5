#include "gateway/net/reply.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct reply_question
asked(enum reply_type type)
{
	struct reply_question question = { .type = type, .id = 0x1234 };

	assert_int_equal(
	    hostname_parse("a.test", 6, &question.name), STATUS_OK);
	return question;
}

/* A message of a header and the question; the caller goes on. */
static struct cursor_writer
begun(unsigned char *bytes, size_t size, uint16_t flags, uint16_t answers)
{
	struct cursor_writer out = cursor_writer_of(bytes, size);

	cursor_put_u16(&out, 0x1234);
	cursor_put_u16(&out, flags);
	cursor_put_u16(&out, 1);
	cursor_put_u16(&out, answers);
	cursor_put_u32(&out, 0);
	cursor_put(&out, "\1A\4TesT\0", 8);
	cursor_put_u16(&out, 1);
	cursor_put_u16(&out, 1);
	return out;
}

static void
put_record(struct cursor_writer *out, uint16_t type, uint32_t ttl,
    const char *data, size_t length)
{
	cursor_put_u16(out, 0xc00c);
	cursor_put_u16(out, type);
	cursor_put_u16(out, 1);
	cursor_put_u32(out, ttl);
	cursor_put_block(out, data, length);
}

static int
read_it(const struct cursor_writer *message, struct reply *ret)
{
	struct reply_question question = asked(REPLY_V4);

	assert_true(cursor_written(message));
	return reply_read(
	    cursor_of(message->bytes, message->used), &question, ret);
}

static void
question_is_written_as_the_rfc_says(void **state)
{
	static const unsigned char wanted[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0"
					      "\1a\4test\0\0\34\0\1";
	unsigned char bytes[REPLY_QUESTION_MAX];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct reply_question question = asked(REPLY_V6);

	(void)state;
	reply_question_write(&question, &out);
	assert_true(cursor_written(&out));
	assert_int_equal(out.used, sizeof(wanted) - 1);
	assert_memory_equal(bytes, wanted, sizeof(wanted) - 1);
}

static void
longest_name_can_be_asked_for(void **state)
{
	char text[LIMIT_HOST];
	unsigned char bytes[REPLY_QUESTION_MAX];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct reply_question question = { .type = REPLY_V4 };

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 61; i < sizeof(text) - 1; i += 62)
		text[i] = '.';
	assert_int_equal(
	    hostname_parse(text, sizeof(text), &question.name), STATUS_OK);
	reply_question_write(&question, &out);
	assert_true(cursor_written(&out));
	assert_int_equal(out.used, sizeof(bytes));
}

static void
addresses_behind_a_chain_of_names_are_read(void **state)
{
	unsigned char bytes[512];
	struct cursor_writer out = begun(bytes, sizeof(bytes), 0x8180, 3);
	struct reply reply;

	(void)state;
	put_record(&out, 5, 20, "\1b\xc0\x0e", 4);
	put_record(&out, 1, 90, "\xc0\0\2\1", 4);
	put_record(&out, 1, 80, "\xc0\0\2\2", 4);
	assert_int_equal(read_it(&out, &reply), STATUS_OK);
	assert_int_equal(reply.status, STATUS_OK);
	assert_int_equal(reply.count, 2);
	assert_int_equal(reply.ttl, 20);
	assert_int_equal(reply.list[1].bytes[3], 2);
}

static void
no_more_addresses_than_the_limit_are_kept(void **state)
{
	unsigned char bytes[1024];
	struct cursor_writer out = begun(bytes, sizeof(bytes), 0x8180, 30);
	struct reply reply;

	(void)state;
	for (int i = 0; i < 30; i++)
		put_record(&out, 1, 90, "\xc0\0\2\1", 4);
	assert_int_equal(read_it(&out, &reply), STATUS_OK);
	assert_int_equal(reply.count, REPLY_ADDRESSES);
}

static void
ttl_is_held_within_bounds(void **state)
{
	static const uint32_t sent[] = { 0, 1, LIMIT_TTL_S + 1, 0x80000000 };
	static const uint32_t read[] = { 0, 1, LIMIT_TTL_S, 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		unsigned char bytes[512];
		struct cursor_writer out =
		    begun(bytes, sizeof(bytes), 0x8180, 1);
		struct reply reply;

		put_record(&out, 1, sent[i], "\xc0\0\2\1", 4);
		assert_int_equal(read_it(&out, &reply), STATUS_OK);
		assert_int_equal(reply.ttl, read[i]);
	}
}

static void
failures_are_told_apart(void **state)
{
	static const struct {
		uint16_t flags;
		int status;
	} cases[] = { { 0x8180, STATUS_NOT_FOUND },
		{ 0x8183, STATUS_NOT_FOUND }, { 0x8182, STATUS_SYSTEM },
		{ 0x8185, STATUS_SYSTEM }, { 0x8181, STATUS_SYSTEM } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned char bytes[512];
		struct cursor_writer out =
		    begun(bytes, sizeof(bytes), cases[i].flags, 0);
		struct reply reply;

		assert_int_equal(read_it(&out, &reply), STATUS_OK);
		assert_int_equal(reply.status, cases[i].status);
		assert_int_equal(reply.count, 0);
	}
}

static void
answer_that_was_cut_says_so_and_keeps_what_is_whole(void **state)
{
	unsigned char bytes[512];
	struct cursor_writer out = begun(bytes, sizeof(bytes), 0x8380, 2);
	struct reply reply;

	(void)state;
	put_record(&out, 1, 90, "\xc0\0\2\1", 4);
	cursor_put_u16(&out, 0xc00c);
	assert_int_equal(read_it(&out, &reply), STATUS_OK);
	assert_true(reply.truncated);
	assert_int_equal(reply.count, 1);
}

/* What another could send who only guesses. */
static void
answer_to_another_question_is_refused(void **state)
{
	unsigned char bytes[512];
	struct reply reply = { .status = 42 };
	static const struct {
		size_t at;
		unsigned char value;
	} changes[] = { { 0, 0x13 }, { 1, 0 }, { 2, 0x01 }, { 2, 0x91 },
		{ 5, 0 }, { 5, 2 }, { 13, 'b' }, { 12, 2 }, { 21, 28 },
		{ 23, 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct cursor_writer out =
		    begun(bytes, sizeof(bytes), 0x8180, 1);

		put_record(&out, 1, 90, "\xc0\0\2\1", 4);
		bytes[changes[i].at] = changes[i].value;
		assert_int_equal(read_it(&out, &reply), STATUS_MALFORMED);
		assert_int_equal(reply.status, 42);
	}
}

static void
every_shorter_message_is_refused(void **state)
{
	unsigned char bytes[512];
	struct cursor_writer out = begun(bytes, sizeof(bytes), 0x8180, 1);
	struct reply_question question = asked(REPLY_V4);
	struct reply reply;

	(void)state;
	put_record(&out, 1, 90, "\xc0\0\2\1", 4);
	for (size_t length = 0; length < out.used; length++)
		assert_int_equal(
		    reply_read(cursor_of(bytes, length), &question, &reply),
		    STATUS_MALFORMED);
}

static void
address_of_a_wrong_length_is_refused(void **state)
{
	unsigned char bytes[512];
	struct cursor_writer out = begun(bytes, sizeof(bytes), 0x8180, 1);
	struct reply reply;

	(void)state;
	put_record(&out, 1, 90, "\xc0\0\2\1\0", 5);
	assert_int_equal(read_it(&out, &reply), STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(question_is_written_as_the_rfc_says),
		cmocka_unit_test(longest_name_can_be_asked_for),
		cmocka_unit_test(addresses_behind_a_chain_of_names_are_read),
		cmocka_unit_test(no_more_addresses_than_the_limit_are_kept),
		cmocka_unit_test(ttl_is_held_within_bounds),
		cmocka_unit_test(failures_are_told_apart),
		cmocka_unit_test(
		    answer_that_was_cut_says_so_and_keeps_what_is_whole),
		cmocka_unit_test(answer_to_another_question_is_refused),
		cmocka_unit_test(every_shorter_message_is_refused),
		cmocka_unit_test(address_of_a_wrong_length_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
