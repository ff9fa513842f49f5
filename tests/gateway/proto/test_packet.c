#include "gateway/proto/packet.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const struct endpoint here4 = { { 4, { 192, 0, 2, 1 } }, 40000 };
static const struct endpoint there4 = { { 4, { 198, 51, 100, 7 } }, 123 };
static const struct endpoint here6 = { { 16, { 0x20, 1, 0xd, 0xb8, [15] = 1 } },
	40000 };
static const struct endpoint there6 = {
	{ 16, { 0x20, 1, 0xd, 0xb8, [15] = 7 } }, 123
};

/* The sum over all of it, its own field included, is all ones. */
static uint16_t
sum_of(const unsigned char *bytes, size_t length, uint32_t sum)
{
	for (size_t i = 0; i < length; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Of what UDP and ICMPv6 add up besides themselves. */
static uint32_t
pseudo(const struct endpoint *a, const struct endpoint *b, uint8_t protocol,
    size_t length)
{
	return sum_of(a->address.bytes, a->address.length, 0) +
	       (uint32_t)sum_of(b->address.bytes, b->address.length, 0) +
	       protocol + (uint32_t)length;
}

static void
check_datagram(
    const struct endpoint *from, const struct endpoint *to, const char *payload)
{
	unsigned char bytes[PACKET_HEAD + 64];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	size_t length = 8 + strlen(payload);
	size_t ip = from->address.length == 4 ? 20 : 40;
	const unsigned char *udp = bytes + ip;

	assert_int_equal(
	    packet_write_head(from, to, cursor_of_text(payload), &out),
	    STATUS_OK);
	assert_int_equal(out.used, ip + 8);
	cursor_put_text(&out, payload);
	assert_true(cursor_written(&out));
	assert_int_equal(udp[0] << 8 | udp[1], from->port);
	assert_int_equal(udp[2] << 8 | udp[3], to->port);
	assert_int_equal(udp[4] << 8 | udp[5], length);
	assert_int_not_equal(udp[6] << 8 | udp[7], 0);
	assert_int_equal(
	    sum_of(udp, length, pseudo(from, to, 17, length)), 0xffff);
	if (ip == 20) {
		assert_int_equal(bytes[0], 0x45);
		assert_int_equal(bytes[2] << 8 | bytes[3], 20 + length);
		assert_int_equal(bytes[9], 17);
		assert_int_equal(sum_of(bytes, 20, 0), 0xffff);
		assert_memory_equal(bytes + 12, from->address.bytes, 4);
		assert_memory_equal(bytes + 16, to->address.bytes, 4);
		return;
	}
	assert_int_equal(bytes[0], 0x60);
	assert_int_equal(bytes[4] << 8 | bytes[5], length);
	assert_int_equal(bytes[6], 17);
	assert_memory_equal(bytes + 8, from->address.bytes, 16);
	assert_memory_equal(bytes + 24, to->address.bytes, 16);
}

static void
datagram_has_its_ends_its_length_and_its_sum(void **state)
{
	static const char *const payloads[] = { "", "a", "ab", "hello there" };

	(void)state;
	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		check_datagram(&there4, &here4, payloads[i]);
		check_datagram(&there6, &here6, payloads[i]);
	}
}

/* A sum of zero would say that there is none. */
static void
sum_that_is_zero_is_written_as_its_other_self(void **state)
{
	unsigned char bytes[PACKET_HEAD];
	unsigned char payload[2];
	unsigned zeroes = 0;

	(void)state;
	for (unsigned i = 0; i <= UINT16_MAX; i++) {
		struct cursor_writer out =
		    cursor_writer_of(bytes, sizeof(bytes));

		payload[0] = (unsigned char)(i >> 8);
		payload[1] = (unsigned char)i;
		assert_int_equal(packet_write_head(&there4, &here4,
				     cursor_of(payload, 2), &out),
		    STATUS_OK);
		assert_int_not_equal(bytes[26] << 8 | bytes[27], 0);
		if (bytes[26] == 0xff && bytes[27] == 0xff)
			zeroes++;
	}
	assert_int_equal(zeroes, 1);
}

static void
check_refusal(const struct endpoint *from, const struct endpoint *to)
{
	unsigned char bytes[PACKET_REFUSAL];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	bool v4 = from->address.length == 4;
	size_t ip = v4 ? 20 : 40, whole = 8 + ip + 8;
	/* Both addresses end an IP header. */
	size_t source = v4 ? 12 : 8, destination = v4 ? 16 : 24;
	const unsigned char *icmp = bytes + ip, *inner = icmp + 8;

	assert_int_equal(packet_write_refusal(from, to, 5, &out), STATUS_OK);
	assert_int_equal(out.used, ip + whole);
	assert_int_equal(icmp[0], v4 ? 3 : 1);
	assert_int_equal(icmp[1], v4 ? 3 : 4);
	assert_int_equal(
	    sum_of(icmp, whole, v4 ? 0 : pseudo(to, from, 58, whole)), 0xffff);
	/* It goes back, and what it tells of went there. */
	assert_memory_equal(
	    bytes + source, to->address.bytes, from->address.length);
	assert_memory_equal(
	    bytes + destination, from->address.bytes, from->address.length);
	assert_memory_equal(
	    inner + source, from->address.bytes, from->address.length);
	assert_int_equal(inner[ip] << 8 | inner[ip + 1], from->port);
	assert_int_equal(inner[ip + 2] << 8 | inner[ip + 3], to->port);
	assert_int_equal(inner[ip + 4] << 8 | inner[ip + 5], 13);
}

static void
refusal_says_which_datagram_it_is_about(void **state)
{
	(void)state;
	check_refusal(&here4, &there4);
	check_refusal(&here6, &there6);
}

static void
what_is_no_packet_is_not_written(void **state)
{
	static unsigned char large[LIMIT_DATAGRAM + 1];
	unsigned char bytes[PACKET_REFUSAL];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct endpoint nobody = { 0 };

	(void)state;
	assert_int_equal(
	    packet_write_head(&here4, &there6, cursor_of("x", 1), &out),
	    STATUS_REFUSED);
	assert_int_equal(
	    packet_write_head(&nobody, &nobody, cursor_of("x", 1), &out),
	    STATUS_REFUSED);
	assert_int_equal(
	    packet_write_refusal(&here6, &there4, 1, &out), STATUS_REFUSED);
	assert_int_equal(packet_write_head(&here4, &there4,
			     cursor_of(large, sizeof(large)), &out),
	    STATUS_TOO_LONG);
	assert_int_equal(
	    packet_write_refusal(&here4, &there4, sizeof(large), &out),
	    STATUS_TOO_LONG);
	out = cursor_writer_of(bytes, 27);
	assert_int_equal(
	    packet_write_head(&here4, &there4, cursor_of("x", 1), &out),
	    STATUS_FULL);
	out = cursor_writer_of(bytes, 55);
	assert_int_equal(
	    packet_write_refusal(&here4, &there4, 1, &out), STATUS_FULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagram_has_its_ends_its_length_and_its_sum),
		cmocka_unit_test(sum_that_is_zero_is_written_as_its_other_self),
		cmocka_unit_test(refusal_says_which_datagram_it_is_about),
		cmocka_unit_test(what_is_no_packet_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
