/*
 * address - an IP address, a prefix, an endpoint, and what kind each is.
 *
 * One canonical form: an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2)
 * is the IPv4 address inside.  IPv4-compatible, NAT64 (RFC 6052) and 6to4
 * (RFC 3056) forms stay IPv6, but are classed by the IPv4 inside; local NAT64
 * (RFC 8215) is reserved, whatever is inside.
 * Text is read strictly: dotted decimal of four parts without leading zeroes,
 * or RFC 5952 input forms; no zone, no brackets, no port.
 */
#ifndef SCHEMA_ADDRESS_H
#define SCHEMA_ADDRESS_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;
struct sockaddr_storage;

/* length is 4 or 16; 0 is "no address". */
struct address {
	uint8_t length;
	uint8_t bytes[16];
};

struct endpoint {
	struct address address;
	uint16_t port;
};

/* A prefix of bits; the bits behind it are zero. */
struct cidr {
	struct address address;
	uint8_t bits;
};

/* What an address is for; all but ADDRESS_PUBLIC are special. */
enum address_kind {
	ADDRESS_PUBLIC,
	ADDRESS_UNSPECIFIED,
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE, /* RFC 1918, and fc00::/7 */
	ADDRESS_SHARED, /* carrier-grade NAT, RFC 6598 */
	ADDRESS_LINK_LOCAL,
	ADDRESS_METADATA, /* the clouds' instance metadata services */
	ADDRESS_MULTICAST,
	ADDRESS_BROADCAST,
	ADDRESS_BENCHMARK, /* RFC 2544; the synthetic pool is in it */
	ADDRESS_DOCUMENTATION,
	ADDRESS_RESERVED,
	ADDRESS_KIND_COUNT
};

#define ADDRESS_TEXT_MAX 46
#define ENDPOINT_TEXT_MAX 54

int address_parse(const char *text, size_t length, struct address *ret)
    MUST_CHECK;
struct address address_v4(const uint8_t bytes[4]);
struct address address_v6(const uint8_t bytes[16]);

bool address_is_set(const struct address *address);
bool address_equals(const struct address *a, const struct address *b);
enum address_kind address_kind(const struct address *address);
const char *address_kind_name(enum address_kind kind);

/*
 * Addresses at which the kind may change, by number: of all addresses from
 * one of them on up to the next, none has another kind.  False behind the
 * last.
 */
bool address_kind_edge(size_t number, struct address *ret) MUST_CHECK;

/* The last address of a range, and the one behind another, if there is one. */
struct address cidr_last(const struct cidr *cidr);
bool address_next(const struct address *address, struct address *ret)
    MUST_CHECK;

/*
 * The IPv4 address inside a mapped, compatible, NAT64 or 6to4 address; false
 * when there is none.
 */
bool address_embedded(const struct address *address, struct address *ret)
    MUST_CHECK;

/* Writes RFC 5952 text with its NUL. */
void address_print(const struct address *address, char out[ADDRESS_TEXT_MAX]);

/* "192.0.2.1:80" or "[2001:db8::1]:80". */
void endpoint_print(
    const struct endpoint *endpoint, char out[ENDPOINT_TEXT_MAX]);
bool endpoint_equals(const struct endpoint *a, const struct endpoint *b);

/* STATUS_MALFORMED for other families than AF_INET and AF_INET6. */
int endpoint_from_sockaddr(const struct sockaddr *from, struct endpoint *ret)
    MUST_CHECK;

/* Fills *ret and returns its length for bind and connect. */
unsigned endpoint_to_sockaddr(
    const struct endpoint *endpoint, struct sockaddr_storage *ret);

/*
 * "10.0.0.0/8", "2001:db8::/32", or one address.  STATUS_REFUSED when bits
 * are set behind the prefix: it would not mean what it looks like.
 */
int cidr_parse(const char *text, size_t length, struct cidr *ret) MUST_CHECK;
bool cidr_contains(const struct cidr *cidr, const struct address *address);

#endif
