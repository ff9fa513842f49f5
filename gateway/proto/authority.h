/*
 * authority - the host and port a request is for, in one canonical form.
 *
 * Read from a Host field, :authority or an absolute-form target (RFC 9110
 * section 7.2): a host name, a dotted IPv4 address or a bracketed IPv6
 * address, and perhaps a port.  Refused: user information, zones, percent
 * encodings, an empty host, an empty port or one with a leading zero, two
 * ports, any spelling of an address but the usual one.
 */
#ifndef GATEWAY_PROTO_AUTHORITY_H
#define GATEWAY_PROTO_AUTHORITY_H

#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/hostname.h"

/* All zeroes is "none"; else exactly one of name and literal is set. */
struct authority {
	struct hostname name;
	struct address literal;
	uint16_t port; /* 0: none was written */
};

/* STATUS_MALFORMED when text is none. */
int authority_parse(struct cursor text, struct authority *ret) MUST_CHECK;

bool authority_is_set(const struct authority *authority);

/* Same host and same port, where no port means default_port. */
bool authority_equals(const struct authority *a, const struct authority *b,
    uint16_t default_port);

/* As in a Host field; a port of 0 is not written. */
void authority_write(
    const struct authority *authority, struct cursor_writer *out);

#endif
