#include "gateway/proto/dns.h"

#include "schema/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static unsigned char packet[70000];

static struct dns_query
query_of(uint16_t type, uint16_t edns_size)
{
	struct dns_query query;
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));

	cursor_put_u16(&out, 0xabcd);
	cursor_put_u16(&out, 0x0100);
	cursor_put_u16(&out, 1);
	cursor_put_u32(&out, 0);
	cursor_put_u16(&out, edns_size > 0 ? 1 : 0);
	cursor_put(&out, "\1a\4TEST\0", 8);
	cursor_put_u16(&out, type);
	cursor_put_u16(&out, DNS_CLASS_IN);
	if (edns_size > 0) {
		cursor_put(&out, "\0\0\51", 3);
		cursor_put_u16(&out, edns_size);
		cursor_put(&out, "\0\0\x80\0\0\0", 6);
	}
	assert_int_equal(
	    dns_query_parse(cursor_of(packet, out.used), &query), STATUS_OK);
	assert_int_equal(query.fault, DNS_NOERROR);
	assert_string_equal(query.host.text, "a.test");
	return query;
}

static struct cursor
answer_of(const struct dns_query *query, const struct dns_answer *answer,
    enum dns_transport transport)
{
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));

	assert_int_equal(
	    dns_answer_write(query, answer, transport, &out), STATUS_OK);
	return cursor_of(packet, out.used);
}

static void
assert_bytes(struct cursor got, const char *bytes, size_t length)
{
	assert_int_equal(got.left, length);
	assert_memory_equal(got.at, bytes, length);
}

#define QUESTION(type) "\1a\4TEST\0\0" type "\0\1"

static void
an_address_is_answered_under_the_name_as_asked(void **state)
{
	struct dns_query query = query_of(DNS_TYPE_A, 0);
	struct address address = address_v4((const uint8_t[]){ 198, 18, 0, 1 });
	struct dns_answer answer = {
		.addresses = &address, .count = 1, .ttl = 60
	};
	static const char expected[] =
	    "\xab\xcd\x81\x80\0\1\0\1\0\0\0\0" QUESTION(
		"\1") "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1";

	(void)state;
	assert_bytes(answer_of(&query, &answer, DNS_UDP), expected,
	    sizeof(expected) - 1);
}

static void
over_tcp_the_length_stands_in_front(void **state)
{
	struct dns_query query = query_of(DNS_TYPE_A, 0);
	struct dns_answer answer = { .rcode = DNS_NXDOMAIN };
	static const char expected[] =
	    "\0\x18\xab\xcd\x81\x83\0\1\0\0\0\0\0\0" QUESTION("\1");

	(void)state;
	assert_bytes(answer_of(&query, &answer, DNS_TCP), expected,
	    sizeof(expected) - 1);
}

/* The names of both families are known, but one was asked for. */
static void
only_the_family_asked_for_is_answered(void **state)
{
	struct address both[2] = {
		address_v4((const uint8_t[]){ 198, 18, 0, 1 }),
		address_v6((const uint8_t[16]){ 0xfd, 0x65 }),
	};
	struct dns_answer answer = { .addresses = both, .count = 2 };
	struct dns_query query = query_of(DNS_TYPE_AAAA, 0);
	struct cursor got = answer_of(&query, &answer, DNS_UDP);

	(void)state;
	assert_int_equal(got.left, 12 + 12 + 28);
	assert_int_equal(got.at[7], 1);
	assert_memory_equal(got.at + got.left - 16, "\xfd\x65", 2);
	query = query_of(DNS_TYPE_HTTPS, 0);
	got = answer_of(&query, &answer, DNS_UDP);
	assert_int_equal(got.left, 12 + 12);
	assert_int_equal(got.at[7], 0);
}

/* D02. */
static void
a_refusal_says_why_to_who_can_read_it(void **state)
{
	struct dns_answer answer = { .rcode = DNS_REFUSED,
		.has_ede = true,
		.ede = 18,
		.ede_text = "no_rule" };
	struct dns_query query = query_of(DNS_TYPE_A, 1232);
	static const char plain[] =
	    "\xab\xcd\x81\x85\0\1\0\0\0\0\0\0" QUESTION("\1");
	static const char edns[] = "\xab\xcd\x81\x85\0\1\0\0\0\0\0\1" QUESTION(
	    "\1") "\0\0\51\4\xd0\0\0\x80\0\0\x0d\0\x0f\0\x09\0\x12no_rule";

	(void)state;
	assert_bytes(
	    answer_of(&query, &answer, DNS_UDP), edns, sizeof(edns) - 1);
	query = query_of(DNS_TYPE_A, 0);
	assert_bytes(
	    answer_of(&query, &answer, DNS_UDP), plain, sizeof(plain) - 1);
}

static void
a_text_is_cut_to_the_room_between_characters(void **state)
{
	static char text[2001];
	struct dns_answer answer = {
		.rcode = DNS_REFUSED, .has_ede = true, .ede_text = text
	};
	struct dns_query query = query_of(DNS_TYPE_A, 512);
	struct cursor got;

	(void)state;
	for (size_t i = 0; i < 2000; i++)
		text[i] = i % 2 == 0 ? '\xc3' : '\xa9';
	got = answer_of(&query, &answer, DNS_UDP);
	assert_in_range(got.left, 511, 512);
	assert_int_equal(got.at[got.left - 1], 0xa9);
	query = query_of(DNS_TYPE_A, 65535);
	got = answer_of(&query, &answer, DNS_UDP);
	assert_in_range(got.left, DNS_UDP_SIZE - 1, DNS_UDP_SIZE);
	got = answer_of(&query, &answer, DNS_TCP);
	assert_int_equal(got.left, 2 + 12 + 12 + 11 + 4 + 2 + 2000);
}

static void
what_does_not_fit_is_left_to_tcp(void **state)
{
	static struct address many[40];
	struct dns_answer answer = { .addresses = many, .count = 40 };
	struct dns_query query = query_of(DNS_TYPE_A, 0);
	struct cursor got;

	(void)state;
	for (uint8_t i = 0; i < 40; i++)
		many[i] = address_v4((const uint8_t[]){ 198, 18, 0, i });
	got = answer_of(&query, &answer, DNS_UDP);
	assert_int_equal(got.left, 12 + 12);
	assert_int_equal(got.at[2] & 2, 2);
	answer.count = (512 - 24) / 16;
	got = answer_of(&query, &answer, DNS_UDP);
	assert_int_equal(got.at[2] & 2, 0);
	assert_int_equal(got.at[7], answer.count);
	answer.count = 40;
	got = answer_of(&query, &answer, DNS_TCP);
	assert_int_equal(got.left, 2 + 24 + 40 * 16);
	assert_int_equal(got.at[4] & 2, 0);
}

static void
a_fault_is_answered_with_what_was_read(void **state)
{
	struct dns_answer answer = { .rcode = DNS_FORMERR };
	struct dns_query query;

	(void)state;
	assert_int_equal(
	    dns_query_parse(cursor_of("\1\2\1\0\0\0\0\0\0\0\0\0", 12), &query),
	    STATUS_OK);
	assert_int_equal(query.fault, DNS_FORMERR);
	assert_bytes(answer_of(&query, &answer, DNS_UDP),
	    "\1\2\x81\x81\0\0\0\0\0\0\0\0", 12);
}

static void
a_wrong_edns_version_is_told_in_the_opt_record(void **state)
{
	struct dns_query query = query_of(DNS_TYPE_A, 1232);
	struct dns_answer answer = { .rcode = DNS_BADVERS };
	struct cursor got = answer_of(&query, &answer, DNS_UDP);

	(void)state;
	assert_int_equal(got.left, 24 + 11);
	assert_int_equal(got.at[3] & 15, 0);
	assert_int_equal(got.at[24 + 5], 1);
}

static void
an_answer_without_room_leaves_the_writer_alone(void **state)
{
	struct dns_query query = query_of(DNS_TYPE_A, 1232);
	struct dns_answer answer = { .rcode = DNS_REFUSED };
	size_t whole = answer_of(&query, &answer, DNS_TCP).left;
	unsigned char small[64];

	(void)state;
	assert_in_range(whole, 30, sizeof(small));
	for (size_t size = 0; size < whole; size++) {
		struct cursor_writer out = cursor_writer_of(small, size);

		assert_int_equal(
		    dns_answer_write(&query, &answer, DNS_TCP, &out),
		    STATUS_FULL);
		assert_int_equal(out.used, 0);
		assert_true(cursor_written(&out));
	}
}

static void
messages_are_taken_whole_from_a_stream(void **state)
{
	static const char stream[] = "\0\14ABCDEFGHIJKL\0\15abcdefghijklm";
	struct cursor bytes, message = { .left = 77 };

	(void)state;
	for (size_t cut = 0; cut < 14; cut++) {
		bytes = cursor_of(stream, cut);
		assert_int_equal(dns_stream_take(&bytes, &message), PARSE_MORE);
		assert_int_equal(bytes.left, cut);
		assert_int_equal(message.left, 77);
	}
	bytes = cursor_of(stream, sizeof(stream) - 1);
	assert_int_equal(dns_stream_take(&bytes, &message), PARSE_OK);
	assert_true(cursor_equals(message, "ABCDEFGHIJKL"));
	assert_int_equal(dns_stream_take(&bytes, &message), PARSE_OK);
	assert_true(cursor_equals(message, "abcdefghijklm"));
	bytes = cursor_of("\0\13", 2);
	assert_int_equal(dns_stream_take(&bytes, &message), PARSE_BAD);
	bytes = cursor_of("\x10\1", 2);
	assert_int_equal(dns_stream_take(&bytes, &message), PARSE_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    an_address_is_answered_under_the_name_as_asked),
		cmocka_unit_test(over_tcp_the_length_stands_in_front),
		cmocka_unit_test(only_the_family_asked_for_is_answered),
		cmocka_unit_test(a_refusal_says_why_to_who_can_read_it),
		cmocka_unit_test(a_text_is_cut_to_the_room_between_characters),
		cmocka_unit_test(what_does_not_fit_is_left_to_tcp),
		cmocka_unit_test(a_fault_is_answered_with_what_was_read),
		cmocka_unit_test(
		    a_wrong_edns_version_is_told_in_the_opt_record),
		cmocka_unit_test(
		    an_answer_without_room_leaves_the_writer_alone),
		cmocka_unit_test(messages_are_taken_whole_from_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
