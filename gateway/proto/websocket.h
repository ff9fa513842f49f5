/*
 * websocket - what a client says in WebSocket frames (RFC 6455 section 5):
 * the payloads of all of them, unmasked, one behind the other.
 *
 * Nothing is changed or refused here: the frames go on as they came, and
 * whoever reads along must not see less than their reader.  Frames of control
 * are left out, for they may stand inside a message; so a text in several
 * frames is one text.
 */
#ifndef GATEWAY_PROTO_WEBSOCKET_H
#define GATEWAY_PROTO_WEBSOCKET_H

#include "schema/cursor.h"

/* All zeroes is the beginning of a connection. */
struct websocket {
	uint8_t head[14];
	uint8_t head_length; /* bytes of it that are there */
	bool in_payload;
	uint8_t phase; /* of the mask's four bytes */
	uint64_t left; /* of the payload */
};

/*
 * Takes bytes from in and gives up to size bytes of payload in out; 0 when in
 * is used up.
 */
size_t websocket_read(struct websocket *websocket, struct cursor *in,
    unsigned char *out, size_t size) MUST_CHECK;

#endif
