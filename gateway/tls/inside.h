/*
 * inside - our server side of TLS, facing the sandbox.
 *
 * One context for the whole run; the leaf is set for each connection.  TLS
 * 1.2 and 1.3, short lists with the cheapest first.  A session ticket resumes
 * only for the host it was given for.
 */
#ifndef GATEWAY_TLS_INSIDE_H
#define GATEWAY_TLS_INSIDE_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct inside;
struct leaf;
struct pool;
struct problem;
struct stream;

/*
 * pool has buffers of STREAM_BUFFER and outlives all streams, as does the
 * context itself.  NULL: *reterr tells why.
 */
struct inside *inside_new(struct pool *pool, struct problem *reterr) MUST_CHECK;
void inside_free(struct inside *inside);

struct inside_order {
	const struct leaf *leaf; /* borrowed for the call */
	/*
	 * What may be spoken, best first, NULL behind the last; or NULL: no
	 * protocol is agreed on.  A client that offers none of them is told
	 * so (RFC 7301 section 3.2) and refused.  Must outlive the stream.
	 */
	const char *const *alpn;
	struct cursor first; /* of the client, read before; copied */
	int fd;
};

/*
 * Takes order->fd.  Go on with stream_handshake().  NULL: *reterr tells why,
 * and fd stays the caller's.
 */
struct stream *inside_accept(struct inside *inside,
    const struct inside_order *order, struct problem *reterr) MUST_CHECK;

#endif
