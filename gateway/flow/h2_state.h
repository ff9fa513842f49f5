/*
 * h2_state - what a connection of HTTP/2 keeps, for its own files and for the
 * two sides that embed it.
 */
#ifndef GATEWAY_FLOW_H2_STATE_H
#define GATEWAY_FLOW_H2_STATE_H

#include "gateway/flow/plane.h"
#include "gateway/proc/loop.h"
#include "schema/cursor.h"
#include "schema/reason.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct conduit;
struct h2;
struct h2_block;
struct h2_stream;
struct http2_head;
struct nghttp2_session;

/* What a side does; none is called while h2_stream's leg is called. */
struct h2_side {
	bool is_server;
	/* A head, or trailers; stream is NULL for one that begins. */
	void (*on_head)(struct h2 *h2, struct h2_stream *stream, int32_t id,
	    const struct http2_head *head, bool ended);
	/* It is closed on the wire, or broken; to be freed. */
	void (*on_close)(struct h2_stream *stream, uint32_t error);
	/* No more will come or go: a clean end with REASON_NONE. */
	void (*on_over)(struct h2 *h2, enum reason reason);
	/* Something came, or went. */
	void (*on_active)(struct h2 *h2);
};

struct h2 {
	const struct h2_side *side;
	struct plane *plane;
	struct conduit *conduit;
	struct nghttp2_session *session;
	TAILQ_HEAD(h2_stream_list, h2_stream) streams;
	size_t count; /* of streams */
	struct h2_block *block; /* a head that is being read */
	struct loop_deferred sending;
	struct cursor unsent; /* of nghttp2's last frame */
	bool over; /* nothing is read, sent or told any more */
	bool settled; /* the peer broke a rule; our last word is on its way */
	bool faulty; /* and it has left */
	bool starved; /* no memory for what has to be sent */
	bool drained, passed; /* some stream's out_drained, in_passed */
	/* How often the peer did what costs us and brings it nothing. */
	int64_t counted_us;
	unsigned resets, pings, settings, empties, priorities;
};

/* Sends at the end of the tick. */
static inline void
h2_send(struct h2 *h2)
{
	if (!h2->over)
		loop_defer(h2->plane->loop, &h2->sending);
}

/* Whose fault it is that what came is no message. */
static inline enum reason
h2_malformed(const struct h2 *h2)
{
	return h2->side->is_server ? REASON_MALFORMED
				   : REASON_UPSTREAM_MALFORMED;
}

#endif
