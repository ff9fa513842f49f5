/*
 * h2_stream - one stream of an HTTP/2 connection: the leg of an exchange, and
 * the bytes that wait on it, either way.
 *
 * Its window opens as the exchange takes bytes, so what waits is bounded by
 * the window; what goes is bounded by LIMIT_H2_OUT.
 */
#ifndef GATEWAY_FLOW_H2_STREAM_H
#define GATEWAY_FLOW_H2_STREAM_H

#include "gateway/flow/backlog.h"
#include "gateway/flow/leg.h"
#include "gateway/proto/http2.h"
#include "schema/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct h2;
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

/* Errors by their numbers in RFC 9113 section 7. */
enum h2_error {
	H2_NO_ERROR = 0,
	H2_PROTOCOL_ERROR = 1,
	H2_INTERNAL_ERROR = 2,
	H2_REFUSED_STREAM = 7,
	H2_CANCEL = 8,
	H2_ENHANCE_YOUR_CALM = 11
};
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

/* A piece of the body came; what the exchange has no room for is kept. */
void h2_stream_take(struct h2_stream *stream, struct cursor bytes);

/* Nothing more comes; trailers may be NULL. */
void h2_stream_end_input(
    struct h2_stream *stream, const struct http2_head *trailers);

/* Heads, to be sent; false when they do not fit. */
bool h2_stream_respond(struct h2_stream *stream, const struct http2_list *list,
    bool interim, bool has_body) MUST_CHECK;
bool h2_stream_request(struct h2_stream *stream, const struct http2_list *list,
    bool has_body) MUST_CHECK;

/* Breaks it off. */
void h2_stream_reset(struct h2_stream *stream, enum h2_error error);

/* For the legs of both sides. */
size_t h2_stream_room(const struct leg *leg);
void h2_stream_body(struct leg *leg, struct cursor bytes);
void h2_stream_finish(struct leg *leg, const struct header *trailers);
void h2_stream_pull(struct leg *leg);
void h2_stream_flush(struct leg *leg);
uint64_t h2_stream_sent(const struct leg *leg);
uint64_t h2_stream_received(const struct leg *leg);

#endif
