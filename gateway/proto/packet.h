/*
 * packet - whole IP packets: one that carries a datagram, one that says that
 * a datagram was refused (RFC 768, 791, 792, 4443, 8200).
 *
 * For a sandbox whose every address is ours: what answers there has the
 * address that was asked, and what refuses, too.  Pure.
 */
#ifndef GATEWAY_PROTO_PACKET_H
#define GATEWAY_PROTO_PACKET_H

#include "schema/address.h"
#include "schema/cursor.h"

/* The headers in front of a payload, in the larger family. */
#define PACKET_HEAD 48

/* What a refusal needs: two headers of IP, one of ICMP, one of UDP. */
#define PACKET_REFUSAL 96

/*
 * Writes the packet of a datagram up to its payload, which is not copied but
 * counted and added up.  Both ends are of one family, and payload has at most
 * LIMIT_DATAGRAM bytes; STATUS_REFUSED and STATUS_TOO_LONG otherwise.
 */
int packet_write_head(const struct endpoint *from, const struct endpoint *to,
    struct cursor payload, struct cursor_writer *out) MUST_CHECK;

/*
 * Writes what the host of `to` would say if nobody listened there to a
 * datagram of `length` bytes from `from`: port unreachable.
 */
int packet_write_refusal(const struct endpoint *from, const struct endpoint *to,
    size_t length, struct cursor_writer *out) MUST_CHECK;

#endif
