/*
 * clienthello - what a TLS ClientHello says in the clear (RFC 8446 section
 * 4.1.2, RFC 6066 section 3, RFC 7301).
 *
 * The message may be split over any number of records and the records over
 * any number of segments, up to LIMIT_HELLO bytes.  Refused: records of
 * another type or of length 0 or above 2^14, lengths that do not add up, a
 * second extension of a kind read here, more than one server name, a server
 * name that is no host name as RFC 6066 wants it (an address, a dot at the
 * end), bytes behind the message in its last record.
 *
 * Pure.  The result owns all it holds.
 */
#ifndef GATEWAY_PROTO_CLIENTHELLO_H
#define GATEWAY_PROTO_CLIENTHELLO_H

#include "schema/cursor.h"
#include "schema/hostname.h"
#include "schema/limits.h"
#include "schema/status.h"

/* Registered protocol names are shorter (IANA, ALPN Protocol IDs). */
#define CLIENTHELLO_ALPN_NAME 31

/* One name of the list; what is longer is cut off, and is nothing we know. */
struct clienthello_alpn {
	uint8_t length;
	char text[CLIENTHELLO_ALPN_NAME + 1];
};

struct clienthello {
	struct hostname sni; /* not set: none was sent */
	uint16_t version; /* the highest offered up to 0x0304; 0: none */
	bool ech; /* encrypted_client_hello, or the draft before it, is there */
	bool alpn_h2, alpn_http1; /* whether "h2", "http/1.1" are offered */
	size_t alpn_count; /* names in the list below */
	struct clienthello_alpn alpn[LIMIT_ALPN]; /* the first ones, in order */
	size_t length; /* bytes of the records that hold the message */
};

/*
 * bytes is everything the client has sent so far, from its first byte; on
 * PARSE_MORE call again with all of it and more.  PARSE_BAD as soon as the
 * bytes there cannot become a hello.
 */
enum parse_result clienthello_parse(
    struct cursor bytes, struct clienthello *ret) MUST_CHECK;

#endif
