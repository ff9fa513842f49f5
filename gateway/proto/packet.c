#include "gateway/proto/packet.h"

#include "schema/limits.h"
#include "schema/status.h"

enum {
	IPV4_HEAD = 20,
	IPV6_HEAD = 40,
	UDP_HEAD = 8,
	ICMP_HEAD = 8,
	VERSION_4 = 0x45, /* and a head of five words */
	VERSION_6 = 0x60,
	HOPS = 64,
	PROTOCOL_ICMP = 1,
	PROTOCOL_UDP = 17,
	PROTOCOL_ICMP6 = 58,
	UNREACHABLE_4 = 3,
	UNREACHABLE_6 = 1,
	PORT_4 = 3, /* RFC 792: port unreachable */
	PORT_6 = 4, /* RFC 4443 section 3.1: the same */
	DONT_FRAGMENT = 0x4000
};

/* ---- sums (RFC 1071) ---- */

/* Of 16 bit words; the last byte of an odd number is the upper half of one. */
static uint32_t
add_bytes(uint32_t sum, struct cursor bytes)
{
	uint16_t word;
	uint8_t byte;

	while (cursor_u16(&bytes, &word)) {
		sum += word;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	if (cursor_u8(&bytes, &byte))
		sum += (uint32_t)byte << 8;
	return (sum & 0xffff) + (sum >> 16);
}

static uint16_t
finish_sum(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

static uint32_t
add_address(uint32_t sum, const struct address *address)
{
	return add_bytes(sum, cursor_of(address->bytes, address->length));
}

/* Of the header that is only thought of (RFC 768, RFC 8200 section 8.1). */
static uint32_t
add_pseudo(const struct address *from, const struct address *to,
    uint8_t protocol, size_t length)
{
	uint32_t sum = protocol + (uint32_t)length;

	sum = (sum & 0xffff) + (sum >> 16);
	return add_address(add_address(sum, from), to);
}

/* ---- headers ---- */

static void
write_ipv4(const struct address *from, const struct address *to,
    uint8_t protocol, size_t length, struct cursor_writer *out)
{
	size_t start = out->used;

	cursor_put_u8(out, VERSION_4);
	cursor_put_u8(out, 0);
	cursor_put_u16(out, (uint16_t)(IPV4_HEAD + length));
	cursor_put_u16(out, 0);
	cursor_put_u16(out, DONT_FRAGMENT);
	cursor_put_u8(out, HOPS);
	cursor_put_u8(out, protocol);
	cursor_put_u16(out, 0);
	cursor_put(out, from->bytes, from->length);
	cursor_put(out, to->bytes, to->length);
	if (!cursor_written(out))
		return;
	cursor_patch_u16(out, start + 10,
	    finish_sum(add_bytes(0, cursor_of(out->bytes + start, IPV4_HEAD))));
}

static void
write_ipv6(const struct address *from, const struct address *to,
    uint8_t protocol, size_t length, struct cursor_writer *out)
{
	cursor_put_u32(out, (uint32_t)VERSION_6 << 24);
	cursor_put_u16(out, (uint16_t)length);
	cursor_put_u8(out, protocol);
	cursor_put_u8(out, HOPS);
	cursor_put(out, from->bytes, from->length);
	cursor_put(out, to->bytes, to->length);
}

static void
write_ip(const struct address *from, const struct address *to, uint8_t protocol,
    size_t length, struct cursor_writer *out)
{
	if (from->length == 4)
		write_ipv4(from, to, protocol, length, out);
	else
		write_ipv6(from, to, protocol, length, out);
}

static bool
are_alike(const struct endpoint *from, const struct endpoint *to)
{
	return address_is_set(&from->address) &&
	       from->address.length == to->address.length;
}

int
packet_write_head(const struct endpoint *from, const struct endpoint *to,
    struct cursor payload, struct cursor_writer *out)
{
	size_t length = UDP_HEAD + payload.left, start;
	uint16_t sum;

	if (!are_alike(from, to))
		return STATUS_REFUSED;
	if (payload.left > LIMIT_DATAGRAM)
		return STATUS_TOO_LONG;
	write_ip(&from->address, &to->address, PROTOCOL_UDP, length, out);
	start = out->used;
	cursor_put_u16(out, from->port);
	cursor_put_u16(out, to->port);
	cursor_put_u16(out, (uint16_t)length);
	cursor_put_u16(out, 0);
	if (!cursor_written(out))
		return STATUS_FULL;
	sum = finish_sum(add_bytes(
	    add_bytes(
		add_pseudo(&from->address, &to->address, PROTOCOL_UDP, length),
		cursor_of(out->bytes + start, UDP_HEAD)),
	    payload));
	/* Zero is what has none, so it is written as its other self. */
	cursor_patch_u16(out, start + 6, sum == 0 ? UINT16_MAX : sum);
	return STATUS_OK;
}

/* The datagram as it came, as far as its asker's kernel wants to see it. */
static void
write_refused(const struct endpoint *from, const struct endpoint *to,
    size_t length, struct cursor_writer *out)
{
	write_ip(
	    &from->address, &to->address, PROTOCOL_UDP, UDP_HEAD + length, out);
	cursor_put_u16(out, from->port);
	cursor_put_u16(out, to->port);
	cursor_put_u16(out, (uint16_t)(UDP_HEAD + length));
	cursor_put_u16(out, 0);
}

int
packet_write_refusal(const struct endpoint *from, const struct endpoint *to,
    size_t length, struct cursor_writer *out)
{
	bool v4 = from->address.length == 4;
	size_t whole = ICMP_HEAD + (v4 ? IPV4_HEAD : IPV6_HEAD) + UDP_HEAD;
	uint8_t protocol = v4 ? PROTOCOL_ICMP : PROTOCOL_ICMP6;
	uint32_t sum = 0;
	size_t start;

	if (!are_alike(from, to))
		return STATUS_REFUSED;
	if (length > LIMIT_DATAGRAM)
		return STATUS_TOO_LONG;
	write_ip(&to->address, &from->address, protocol, whole, out);
	start = out->used;
	cursor_put_u8(out, v4 ? UNREACHABLE_4 : UNREACHABLE_6);
	cursor_put_u8(out, v4 ? PORT_4 : PORT_6);
	cursor_put_u16(out, 0);
	cursor_put_u32(out, 0);
	write_refused(from, to, length, out);
	if (!cursor_written(out))
		return STATUS_FULL;
	/* Only the younger ICMP adds up the addresses as well. */
	if (!v4)
		sum = add_pseudo(&to->address, &from->address, protocol, whole);
	cursor_patch_u16(out, start + 2,
	    finish_sum(add_bytes(sum, cursor_of(out->bytes + start, whole))));
	return STATUS_OK;
}
