/*
 * h2 - one HTTP/2 connection (RFC 9113): an nghttp2 session over a conduit,
 * and the bytes of its streams.
 *
 * nghttp2 does frames, HPACK and windows; heads are read by proto/http2, and
 * what a peer may not do too often is counted here.  A stream's window opens
 * as the other side of its exchange takes bytes, so what a stream holds is
 * bounded by its window.  The connection's window opens at once, so that no
 * stream can hold up another.
 *
 * h2_server and h2_client embed one, and say what heads and ends mean.
 * Everything to be sent is sent at the end of the tick; nothing is called
 * back from within a call but in h2_start() and from the loop.
 */
#ifndef GATEWAY_FLOW_H2_H
#define GATEWAY_FLOW_H2_H

#include "gateway/flow/backlog.h"
#include "gateway/flow/leg.h"
#include "gateway/proc/loop.h"
#include "gateway/proto/http2.h"
#include "schema/reason.h"

#include <sys/queue.h>

struct conduit;
struct h2;
struct h2_block;
struct nghttp2_session;
struct plane;
struct stream;

/* A message's trailers, kept until its body is through. */
struct h2_tail;

struct h2_stream {
	struct leg leg; /* first */
	struct h2 *h2;
	TAILQ_ENTRY(h2_stream) next;
	int32_t id; /* 0: nothing was sent of it yet */
	bool closed; /* on the wire; it is here for what came before */

	struct backlog in; /* came, and the exchange has no room for it */
	bool in_ended, in_passed;
	struct h2_tail *in_tail;
	bool in_counts; /* a Content-Length was promised */
	uint64_t in_left; /* of it */

	struct backlog out; /* from the exchange, and no window for it */
	bool out_begun, out_ended, out_full, out_drained;
	bool out_waits; /* nghttp2 was told that there is nothing */
	struct h2_tail *out_tail;
	bool cut; /* once all is sent: the peer need not go on either */

	uint64_t sent, received; /* frames of it, in bytes */
};

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

/* Takes stream, also on failure: STATUS_NO_MEMORY, and *h2 is for h2_done(). */
int h2_init(struct h2 *h2, const struct h2_side *side, struct plane *plane,
    struct stream *stream) MUST_CHECK;

/* Says goodbye as far as that goes at once, and closes. */
void h2_done(struct h2 *h2);

/* Nothing is read or called back any more. */
void h2_stop(struct h2 *h2);

/* Takes no new streams, and ends when the last is done. */
void h2_drain(struct h2 *h2);

/* Sends at the end of the tick. */
void h2_send(struct h2 *h2);

/* Whether a head has begun that is not whole. */
bool h2_is_reading_head(const struct h2 *h2);

/* ---- streams ---- */

/* Adds one; ops are those of its leg.  NULL: no memory. */
struct h2_stream *h2_stream_new(
    struct h2 *h2, size_t size, const struct leg_ops *ops) MUST_CHECK;

/* Takes it out and frees it; no exchange is attached. */
void h2_stream_free(struct h2_stream *stream);

/* The stream that a peer began, under its number. */
void h2_stream_bind(struct h2_stream *stream, int32_t id);

/* What was promised of the body that comes. */
void h2_stream_expect(
    struct h2_stream *stream, const struct message_body *body);

/* What was read behind the head: ended. */
void h2_stream_end_input(
    struct h2_stream *stream, const struct http2_head *trailers);

/* Heads, to be sent; false when they do not fit. */
bool h2_stream_respond(struct h2_stream *stream, const struct http2_list *list,
    bool interim, bool has_body) MUST_CHECK;
bool h2_stream_request(struct h2_stream *stream, const struct http2_list *list,
    bool has_body) MUST_CHECK;

/* Breaks it off with an error of RFC 9113 section 7. */
enum h2_error {
	H2_NO_ERROR = 0,
	H2_PROTOCOL_ERROR = 1,
	H2_INTERNAL_ERROR = 2,
	H2_REFUSED_STREAM = 7,
	H2_CANCEL = 8,
	H2_ENHANCE_YOUR_CALM = 11
};
void h2_stream_reset(struct h2_stream *stream, enum h2_error error);

/* For the legs of both sides. */
size_t h2_stream_room(const struct leg *leg);
void h2_stream_body(struct leg *leg, struct cursor bytes);
void h2_stream_finish(struct leg *leg, const struct header *trailers);
void h2_stream_pull(struct leg *leg);
void h2_stream_flush(struct leg *leg);
uint64_t h2_stream_sent(const struct leg *leg);
uint64_t h2_stream_received(const struct leg *leg);

/* ---- for h2_client ---- */

/* Whether the peer and we may begin one more stream. */
bool h2_has_room(const struct h2 *h2);

/* Whether it relays other protocols on streams (RFC 8441). */
bool h2_takes_connect(const struct h2 *h2);

#endif
