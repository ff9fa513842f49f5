/*
 * awschunk - the aws-chunked coding of a body, where each chunk is signed.
 *
 *   HEX ";chunk-signature=" SIGNATURE CRLF, as many bytes, CRLF, ...
 *   "0;chunk-signature=" SIGNATURE CRLF, trailers, CRLF
 *   trailer = NAME ":" VALUE CRLF
 *
 * It is a coding of its own inside whatever frames the message.  One step
 * reads one element; the body of a chunk comes in slices.  A line that comes in
 * pieces is gathered by the caller: nothing of an unfinished one is taken.
 */
#ifndef GATEWAY_PROTO_AWSCHUNK_H
#define GATEWAY_PROTO_AWSCHUNK_H

#include "schema/attr.h"
#include "schema/cursor.h"

enum awschunk_state {
	AWSCHUNK_AT_LINE,
	AWSCHUNK_IN_DATA,
	AWSCHUNK_AT_DATA_END,
	AWSCHUNK_AT_TRAILER,
	AWSCHUNK_OVER
};

/* All zeroes is the beginning of a body. */
struct awschunk {
	enum awschunk_state state;
	uint64_t left; /* of the chunk */
};

enum awschunk_what {
	AWSCHUNK_MORE, /* more bytes, please */
	AWSCHUNK_BAD,
	AWSCHUNK_LINE, /* a chunk of size bytes begins, perhaps of none */
	AWSCHUNK_DATA, /* bytes: a slice of it */
	AWSCHUNK_DATA_END,
	AWSCHUNK_TRAILER, /* name and value */
	AWSCHUNK_END /* nothing may follow */
};

struct awschunk_part {
	uint64_t size;
	struct cursor digits; /* size as it was written */
	struct cursor signature; /* of AWSCHUNK_LINE */
	struct cursor bytes;
	struct cursor name, value;
};

/*
 * Takes the next element from in.  The cursors of *ret borrow from there.  On
 * AWSCHUNK_MORE nothing was taken; a line longer than LIMIT_AWS_LINE is bad.
 */
enum awschunk_what awschunk_step(struct awschunk *chunk, struct cursor *in,
    struct awschunk_part *ret) MUST_CHECK;

#endif
