/*
 * What the vectors cannot hold: every way to split one hello.
 */
#include "gateway/proto/clienthello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ROOM (2 * LIMIT_HELLO)

static unsigned char message[LIMIT_HELLO], records[ROOM];

/* A hello for a.example.test with a padding extension of that many bytes. */
static size_t
make_hello(size_t padding)
{
	static const char name[] = "a.example.test";
	struct cursor_writer out = cursor_writer_of(message, sizeof(message));
	size_t body, extensions, length = strlen(name);

	cursor_put_u32(&out, 0x01000000);
	body = out.used;
	cursor_put_u16(&out, 0x0303);
	for (size_t i = 0; i < 32; i++)
		cursor_put_u8(&out, (uint8_t)i);
	cursor_put_u8(&out, 0);
	cursor_put_u16(&out, 2);
	cursor_put_u16(&out, 0x1301);
	cursor_put_u16(&out, 0x0100);
	extensions = out.used;
	cursor_put_u16(&out, 0);
	cursor_put_u16(&out, 21);
	cursor_put_u16(&out, (uint16_t)padding);
	for (size_t i = 0; i < padding; i++)
		cursor_put_u8(&out, 0);
	cursor_put_u16(&out, 0);
	cursor_put_u16(&out, (uint16_t)(length + 5));
	cursor_put_u16(&out, (uint16_t)(length + 3));
	cursor_put_u8(&out, 0);
	cursor_put_string(&out, name);
	cursor_patch_u16(
	    &out, extensions, (uint16_t)(out.used - extensions - 2));
	cursor_patch_u16(&out, body - 2, (uint16_t)(out.used - body));
	assert_true(cursor_written(&out));
	return out.used;
}

static void
put_record(struct cursor_writer *out, size_t from, size_t length)
{
	cursor_put_u8(out, 22);
	cursor_put_u16(out, 0x0301);
	cursor_put_block(out, message + from, length);
}

/* Each record but the last holds piece bytes. */
static size_t
make_records(size_t length, size_t piece)
{
	struct cursor_writer out = cursor_writer_of(records, sizeof(records));

	for (size_t from = 0; from < length; from += piece)
		put_record(
		    &out, from, length - from < piece ? length - from : piece);
	assert_true(cursor_written(&out));
	return out.used;
}

static void
assert_read(size_t length)
{
	struct clienthello hello;

	assert_int_equal(
	    clienthello_parse(cursor_of(records, length), &hello), PARSE_OK);
	assert_string_equal(hello.sni.text, "a.example.test");
	assert_int_equal(hello.length, length);
}

/* S21: the segments of TCP may end anywhere. */
static void
a_hello_of_16_kib_is_awaited_at_every_byte(void **state)
{
	size_t length = make_records(make_hello(16400), 16384);
	struct clienthello hello;

	(void)state;
	assert_in_range(length, 16384, 17000);
	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(
		    clienthello_parse(cursor_of(records, cut), &hello),
		    PARSE_MORE);
	assert_read(length);
}

/* S21: so may records. */
static void
a_hello_is_read_however_it_is_split_over_records(void **state)
{
	size_t whole = make_hello(1500);

	(void)state;
	for (size_t cut = 1; cut < whole; cut++) {
		struct cursor_writer out =
		    cursor_writer_of(records, sizeof(records));

		put_record(&out, 0, cut);
		put_record(&out, cut, whole - cut);
		assert_read(out.used);
	}
	for (size_t piece = 1; piece < 70; piece++)
		assert_read(make_records(whole, piece));
	whole = make_hello(40000);
	assert_read(make_records(whole, 16384));
	assert_read(make_records(whole, 1000));
}

static void
a_hello_without_end_is_refused_at_the_limit(void **state)
{
	struct clienthello hello = { .length = 77 };
	size_t length;

	(void)state;
	memset(message, 0, sizeof(message));
	message[0] = 1;
	message[1] = 1; /* 65,536 bytes are announced */
	length = make_records(sizeof(message), 8192);
	assert_int_equal(
	    clienthello_parse(cursor_of(records, length), &hello), PARSE_BAD);
	message[1] = 0;
	message[2] = 0xff;
	message[3] = 0xff;
	/* Small records take room as well. */
	length = make_records(12000, 1);
	assert_in_range(length, LIMIT_HELLO, ROOM);
	assert_int_equal(
	    clienthello_parse(cursor_of(records, length), &hello), PARSE_BAD);
	assert_int_equal(hello.length, 77);
}

static void
what_cannot_become_a_hello_is_refused_at_once(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} begun[] = {
		{ "G", 1 },
		{ "\x16\x02", 2 },
		{ "\x16\x03\x01\x00\x00", 5 },
		{ "\x16\x03\x01\x40\x01", 5 },
		{ "\x16\x03\x01\x00\x01\x02", 6 },
		{ "\x16\x03\x01\x00\x01\x01\x15", 7 },
	};
	struct clienthello hello;

	(void)state;
	for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++)
		assert_int_equal(
		    clienthello_parse(
			cursor_of(begun[i].bytes, begun[i].length), &hello),
		    PARSE_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_of_16_kib_is_awaited_at_every_byte),
		cmocka_unit_test(
		    a_hello_is_read_however_it_is_split_over_records),
		cmocka_unit_test(a_hello_without_end_is_refused_at_the_limit),
		cmocka_unit_test(what_cannot_become_a_hello_is_refused_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
