/*
 * sniff - which protocol a client's first bytes begin.
 *
 * Only what is certain is named: anything else is SNIFF_OTHER, which a rule
 * has to allow as plain TCP.  It never asks for bytes that the protocol in
 * question does not owe, so a caller may wait for PARSE_MORE as long as it
 * waits for a client at all.
 *
 * Pure.  Borrows the bytes for the call.
 */
#ifndef GATEWAY_PROTO_SNIFF_H
#define GATEWAY_PROTO_SNIFF_H

#include "schema/cursor.h"
#include "schema/status.h"

enum sniff_protocol {
	SNIFF_TLS, /* a record that begins a ClientHello (RFC 8446) */
	SNIFF_HTTP1, /* a method and a target; http1 judges the rest */
	SNIFF_HTTP2, /* the whole preface (RFC 9113 section 3.4) */
	SNIFF_SSH, /* "SSH-" (RFC 4253 section 4.2) */
	SNIFF_OTHER,
	SNIFF_COUNT
};

/*
 * first is everything the client has sent so far.  PARSE_MORE while it could
 * still become one of several; never PARSE_BAD.
 */
enum parse_result sniff_bytes(struct cursor first, enum sniff_protocol *ret)
    MUST_CHECK;

/* "tls", "http1", "http2", "ssh" or "other". */
const char *sniff_name(enum sniff_protocol protocol);

#endif
