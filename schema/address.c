#include "schema/address.h"

#include "schema/cursor.h"
#include "schema/status.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct range {
	uint8_t bytes[16];
	uint8_t bits;
	enum address_kind kind;
};

/* Most specific first.  IANA special-purpose registries, RFC 6890. */
static const struct range v4_ranges[] = {
	{ { 169, 254, 169, 254 }, 32, ADDRESS_METADATA },
	{ { 169, 254, 170, 2 }, 32, ADDRESS_METADATA },
	{ { 169, 254, 170, 23 }, 32, ADDRESS_METADATA },
	{ { 100, 100, 100, 200 }, 32, ADDRESS_METADATA },
	{ { 192, 0, 0, 192 }, 32, ADDRESS_METADATA },
	{ { 168, 63, 129, 16 }, 32, ADDRESS_METADATA },
	{ { 255, 255, 255, 255 }, 32, ADDRESS_BROADCAST },
	{ { 192, 0, 2, 0 }, 24, ADDRESS_DOCUMENTATION },
	{ { 198, 51, 100, 0 }, 24, ADDRESS_DOCUMENTATION },
	{ { 203, 0, 113, 0 }, 24, ADDRESS_DOCUMENTATION },
	{ { 192, 0, 0, 0 }, 24, ADDRESS_RESERVED },
	{ { 192, 88, 99, 0 }, 24, ADDRESS_RESERVED },
	{ { 192, 168, 0, 0 }, 16, ADDRESS_PRIVATE },
	{ { 169, 254, 0, 0 }, 16, ADDRESS_LINK_LOCAL },
	{ { 198, 18, 0, 0 }, 15, ADDRESS_BENCHMARK },
	{ { 172, 16, 0, 0 }, 12, ADDRESS_PRIVATE },
	{ { 100, 64, 0, 0 }, 10, ADDRESS_SHARED },
	{ { 10, 0, 0, 0 }, 8, ADDRESS_PRIVATE },
	{ { 127, 0, 0, 0 }, 8, ADDRESS_LOOPBACK },
	{ { 0, 0, 0, 0 }, 8, ADDRESS_UNSPECIFIED },
	{ { 224, 0, 0, 0 }, 4, ADDRESS_MULTICAST },
	{ { 240, 0, 0, 0 }, 4, ADDRESS_RESERVED },
};

static const struct range v6_ranges[] = {
	{ { 0 }, 128, ADDRESS_UNSPECIFIED },
	{ { [15] = 1 }, 128, ADDRESS_LOOPBACK },
	/* fd00:ec2::254 (AWS) and fd20:ce::254 (GCP). */
	{ { 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54 }, 128, ADDRESS_METADATA },
	{ { 0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54 }, 128, ADDRESS_METADATA },
	{ { 0x01, 0x00 }, 64, ADDRESS_RESERVED },
	/*
	 * Local NAT64, RFC 8215: which of its bits are the IPv4 address is
	 * each network's own choice (RFC 6052), so none can be judged.
	 */
	{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 48, ADDRESS_RESERVED },
	{ { 0x20, 0x01, 0, 2 }, 48, ADDRESS_BENCHMARK },
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, ADDRESS_DOCUMENTATION },
	{ { 0x20, 0x01, 0, 0 }, 32, ADDRESS_RESERVED }, /* Teredo */
	{ { 0x20, 0x01, 0, 0x10 }, 28, ADDRESS_RESERVED },
	{ { 0x3f, 0xff }, 20, ADDRESS_DOCUMENTATION },
	{ { 0x5f, 0x00 }, 16, ADDRESS_RESERVED },
	{ { 0xfe, 0x80 }, 10, ADDRESS_LINK_LOCAL },
	{ { 0xfe, 0xc0 }, 10, ADDRESS_PRIVATE },
	{ { 0xff, 0x00 }, 8, ADDRESS_MULTICAST },
	{ { 0xfc, 0x00 }, 7, ADDRESS_PRIVATE },
};

static const char *const kind_names[] = {
	[ADDRESS_PUBLIC] = "public",
	[ADDRESS_UNSPECIFIED] = "unspecified",
	[ADDRESS_LOOPBACK] = "loopback",
	[ADDRESS_PRIVATE] = "private",
	[ADDRESS_SHARED] = "shared",
	[ADDRESS_LINK_LOCAL] = "link-local",
	[ADDRESS_METADATA] = "metadata",
	[ADDRESS_MULTICAST] = "multicast",
	[ADDRESS_BROADCAST] = "broadcast",
	[ADDRESS_BENCHMARK] = "benchmark",
	[ADDRESS_DOCUMENTATION] = "documentation",
	[ADDRESS_RESERVED] = "reserved",
};

static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == ADDRESS_KIND_COUNT,
    "every kind has a name");

const char *
address_kind_name(enum address_kind kind)
{
	return kind_names[kind];
}

struct address
address_v4(const uint8_t bytes[4])
{
	struct address address = { .length = 4 };

	memcpy(address.bytes, bytes, 4);
	return address;
}

struct address
address_v6(const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
	struct address address = { .length = 16 };

	if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
		return address_v4(bytes + 12);
	memcpy(address.bytes, bytes, 16);
	return address;
}

int
address_parse(const char *text, size_t length, struct address *ret)
{
	char copy[ADDRESS_TEXT_MAX];
	uint8_t bytes[16];

	if (length == 0 || length >= sizeof(copy))
		return STATUS_MALFORMED;
	if (memchr(text, '\0', length) != NULL)
		return STATUS_MALFORMED;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (inet_pton(AF_INET, copy, bytes) == 1) {
		*ret = address_v4(bytes);
		return STATUS_OK;
	}
	if (inet_pton(AF_INET6, copy, bytes) == 1) {
		*ret = address_v6(bytes);
		return STATUS_OK;
	}
	return STATUS_MALFORMED;
}

bool
address_is_set(const struct address *address)
{
	return address->length != 0;
}

bool
address_equals(const struct address *a, const struct address *b)
{
	return a->length == b->length &&
	       memcmp(a->bytes, b->bytes, a->length) == 0;
}

static bool
prefix_matches(const uint8_t *prefix, unsigned bits, const uint8_t *bytes)
{
	unsigned whole = bits / 8, rest = bits % 8;
	unsigned mask = 0xffU << (8 - rest) & 0xff;

	if (memcmp(prefix, bytes, whole) != 0)
		return false;
	return rest == 0 || ((prefix[whole] ^ bytes[whole]) & mask) == 0;
}

static enum address_kind
kind_in(const struct range *ranges, size_t count, const uint8_t *bytes)
{
	for (size_t i = 0; i < count; i++)
		if (prefix_matches(ranges[i].bytes, ranges[i].bits, bytes))
			return ranges[i].kind;
	return ADDRESS_PUBLIC;
}

/* Forms of an IPv6 address with an IPv4 address inside, from byte at on. */
static const struct form {
	uint8_t prefix[12];
	uint8_t bits, at;
} forms[] = {
	{ { [10] = 0xff, 0xff }, 96, 12 },
	{ { 0 }, 96, 12 },
	{ { 0, 0x64, 0xff, 0x9b }, 96, 12 },
	{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 48, 12 },
	{ { [8] = 0xff, 0xff }, 96, 12 }, /* SIIT, RFC 2765 */
	{ { 0x20, 0x02 }, 16, 2 },
};

bool
address_embedded(const struct address *address, struct address *ret)
{
	if (address->length != 16)
		return false;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!prefix_matches(
			forms[i].prefix, forms[i].bits, address->bytes))
			continue;
		*ret = address_v4(address->bytes + forms[i].at);
		return true;
	}
	return false;
}

static enum address_kind
kind_of_v4(const uint8_t *bytes)
{
	return kind_in(
	    v4_ranges, sizeof(v4_ranges) / sizeof(v4_ranges[0]), bytes);
}

enum address_kind
address_kind(const struct address *address)
{
	struct address inside;
	enum address_kind kind;

	if (address->length == 4)
		return kind_of_v4(address->bytes);
	if (address->length != 16)
		return ADDRESS_UNSPECIFIED;
	kind = kind_in(v6_ranges, sizeof(v6_ranges) / sizeof(v6_ranges[0]),
	    address->bytes);
	if (kind != ADDRESS_PUBLIC || !address_embedded(address, &inside))
		return kind;
	return kind_of_v4(inside.bytes);
}

struct address
cidr_last(const struct cidr *cidr)
{
	struct address address = cidr->address;

	for (unsigned bit = cidr->bits; bit < address.length * 8U; bit++)
		address.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return address;
}

bool
address_next(const struct address *address, struct address *ret)
{
	struct address next = *address;

	for (size_t i = next.length; i-- > 0;) {
		next.bytes[i]++;
		if (next.bytes[i] != 0) {
			*ret = next;
			return true;
		}
	}
	return false;
}

/* Where a range begins, or what stands behind its end. */
static bool
edge_of(const struct cidr *cidr, bool behind, struct address *ret)
{
	struct address last = cidr_last(cidr);

	if (behind)
		return address_next(&last, ret);
	*ret = cidr->address;
	return true;
}

#define V4_EDGES (2 * sizeof(v4_ranges) / sizeof(v4_ranges[0]))
#define V6_EDGES (2 * sizeof(v6_ranges) / sizeof(v6_ranges[0]))
#define FORMS (sizeof(forms) / sizeof(forms[0]))

static bool
range_edge(
    const struct range *range, uint8_t length, bool behind, struct address *ret)
{
	struct cidr cidr = { .address = { .length = length },
		.bits = range->bits };

	memcpy(cidr.address.bytes, range->bytes, length);
	return edge_of(&cidr, behind, ret);
}

/* The edges of the form itself, then those of the IPv4 ranges inside. */
static bool
form_edge(const struct form *form, size_t number, struct address *ret)
{
	struct cidr cidr = { .address = { .length = 16 }, .bits = form->bits };
	struct address inside;

	memcpy(cidr.address.bytes, form->prefix, sizeof(form->prefix));
	if (number < 2)
		return edge_of(&cidr, number == 1, ret);
	number -= 2;
	if (!range_edge(&v4_ranges[number / 2], 4, number % 2 == 1, &inside))
		return false;
	memcpy(cidr.address.bytes + form->at, inside.bytes, 4);
	*ret = cidr.address;
	return true;
}

bool
address_kind_edge(size_t number, struct address *ret)
{
	struct address edge = { .length = 4 };
	bool there = true;

	if (number >= V4_EDGES + V6_EDGES + FORMS * (V4_EDGES + 2))
		return false;
	if (number < V4_EDGES) {
		there = range_edge(
		    &v4_ranges[number / 2], 4, number % 2 == 1, &edge);
	} else if (number < V4_EDGES + V6_EDGES) {
		number -= V4_EDGES;
		there = range_edge(
		    &v6_ranges[number / 2], 16, number % 2 == 1, &edge);
	} else {
		number -= V4_EDGES + V6_EDGES;
		there = form_edge(&forms[number / (V4_EDGES + 2)],
		    number % (V4_EDGES + 2), &edge);
	}
	/* Behind the last address of all is none: any other edge does. */
	if (!there)
		edge = (struct address){ .length = 4 };
	*ret = edge;
	return true;
}

void
address_print(const struct address *address, char out[ADDRESS_TEXT_MAX])
{
	int family = address->length == 4 ? AF_INET : AF_INET6;

	if (address->length == 0 ||
	    inet_ntop(family, address->bytes, out, ADDRESS_TEXT_MAX) == NULL)
		memcpy(out, "-", 2);
}

void
endpoint_print(const struct endpoint *endpoint, char out[ENDPOINT_TEXT_MAX])
{
	char text[ADDRESS_TEXT_MAX];
	bool v6 = endpoint->address.length == 16;

	address_print(&endpoint->address, text);
	if (snprintf(out, ENDPOINT_TEXT_MAX, "%s%s%s:%u", v6 ? "[" : "", text,
		v6 ? "]" : "", endpoint->port) >= ENDPOINT_TEXT_MAX)
		memcpy(out, "-", 2);
}

bool
endpoint_equals(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && address_equals(&a->address, &b->address);
}

int
endpoint_from_sockaddr(const struct sockaddr *from, struct endpoint *ret)
{
	if (from->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, from, sizeof(in));
		ret->address = address_v4((const uint8_t *)&in.sin_addr);
		ret->port = ntohs(in.sin_port);
		return STATUS_OK;
	}
	if (from->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, from, sizeof(in6));
		ret->address = address_v6(in6.sin6_addr.s6_addr);
		ret->port = ntohs(in6.sin6_port);
		return STATUS_OK;
	}
	return STATUS_MALFORMED;
}

unsigned
endpoint_to_sockaddr(
    const struct endpoint *endpoint, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (endpoint->address.length == 4) {
		struct sockaddr_in in = { .sin_family = AF_INET,
			.sin_port = htons(endpoint->port) };

		memcpy(&in.sin_addr, endpoint->address.bytes, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(endpoint->port) };

	memcpy(&in6.sin6_addr, endpoint->address.bytes, 16);
	memcpy(ret, &in6, sizeof(in6));
	return sizeof(in6);
}

int
cidr_parse(const char *text, size_t length, struct cidr *ret)
{
	struct cursor rest = cursor_of(text, length), name;
	struct cidr cidr;
	uint64_t bits;

	if (!cursor_until(&rest, '/', &name)) {
		if (address_parse(text, length, &cidr.address) != STATUS_OK)
			return STATUS_MALFORMED;
		cidr.bits = (uint8_t)(cidr.address.length * 8);
		*ret = cidr;
		return STATUS_OK;
	}
	if (address_parse((const char *)name.at, name.left, &cidr.address) !=
	    STATUS_OK)
		return STATUS_MALFORMED;
	if (!cursor_decimal(&rest, cidr.address.length * 8ULL, &bits) ||
	    !cursor_is_empty(&rest))
		return STATUS_MALFORMED;
	cidr.bits = (uint8_t)bits;
	for (unsigned bit = cidr.bits; bit < cidr.address.length * 8U; bit++)
		if ((cidr.address.bytes[bit / 8] & 0x80 >> bit % 8) != 0)
			return STATUS_REFUSED;
	*ret = cidr;
	return STATUS_OK;
}

bool
cidr_contains(const struct cidr *cidr, const struct address *address)
{
	return cidr->address.length == address->length &&
	       prefix_matches(cidr->address.bytes, cidr->bits, address->bytes);
}
