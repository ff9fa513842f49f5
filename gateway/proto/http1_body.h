/*
 * http1_body - where an HTTP/1 body ends, and what is in it (RFC 9112
 * sections 6 and 7).
 *
 * Chunk sizes are hexadecimal digits and nothing else; extensions are read
 * past and dropped; every line ends with CR LF.  Trailers are fields as strict
 * as those of a head, in at most LIMIT_HTTP_TRAILERS bytes; those that frame,
 * route or authenticate a message are dropped (RFC 9110 section 6.5.1).
 *
 * Pure.  Payload is given out as slices of the caller's bytes, copied nowhere.
 */
#ifndef GATEWAY_PROTO_HTTP1_BODY_H
#define GATEWAY_PROTO_HTTP1_BODY_H

#include "gateway/proto/header.h"
#include "gateway/proto/message.h"
#include "schema/status.h"

enum http1_body_state {
	HTTP1_BODY_DATA, /* left bytes of payload follow */
	HTTP1_BODY_CHUNK_SIZE,
	HTTP1_BODY_CHUNK_END, /* the CR LF behind a chunk */
	HTTP1_BODY_TRAILERS,
	HTTP1_BODY_TO_CLOSE,
	HTTP1_BODY_DONE,
	HTTP1_BODY_BROKEN /* was bad; stays so */
};

struct http1_body {
	enum http1_body_state state;
	bool chunked;
	uint64_t left; /* payload bytes of the length or the chunk */
};

struct http1_body http1_body_of(struct message_body body);

/*
 * Reads on from *bytes and passes what it has read.
 *
 * PARSE_MORE: *ret is the next slice of payload, or it is empty and *bytes is
 * to be given again with more behind it: a chunk's line and the trailers are
 * only read whole.  Call again while a slice came.
 * PARSE_OK: the body has ended; *bytes begins the next message, *ret is empty,
 * *ret_trailers (which may be NULL) holds the trailers, borrowed from the
 * caller's bytes.
 * PARSE_BAD: outputs are untouched, and it will stay bad.
 */
enum parse_result http1_body_read(struct http1_body *body, struct cursor *bytes,
    struct cursor *ret, struct header *ret_trailers) MUST_CHECK;

/* The peer closed: whether the body was whole, so that this is its end. */
bool http1_body_may_end(const struct http1_body *body);

/* ---- and the other way ---- */

/* The longest line in front of a chunk. */
#define HTTP1_BODY_CHUNK_LINE 18

/* "size CR LF" in front of length bytes, more than 0, and what follows. */
void http1_body_chunk_begin(uint64_t length, struct cursor_writer *out);
void http1_body_chunk_end(struct cursor_writer *out);

/* The last chunk and its trailers, which may be NULL. */
void http1_body_finish(
    const struct header *trailers, struct cursor_writer *out);

#endif
