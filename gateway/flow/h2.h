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
 * back from within a call but from the loop.
 *
 * The connection is here, what nghttp2 tells of it is in h2_session, a
 * stream's bytes are in h2_stream, and what all three share in h2_state; each
 * knows only those named behind it.
 */
#ifndef GATEWAY_FLOW_H2_H
#define GATEWAY_FLOW_H2_H

#include "gateway/flow/h2_state.h"
#include "schema/attr.h"

#include <stdbool.h>

struct plane;
struct stream;

/* Takes stream, also on failure: STATUS_NO_MEMORY, and *h2 is for h2_done(). */
int h2_init(struct h2 *h2, const struct h2_side *side, struct plane *plane,
    struct stream *stream) MUST_CHECK;

/* Says goodbye as far as that goes at once, and closes. */
void h2_done(struct h2 *h2);

/* Nothing is read or called back any more. */
void h2_stop(struct h2 *h2);

/* Takes no new streams, and ends when the last is done. */
void h2_drain(struct h2 *h2);

/* Whether a head has begun that is not whole. */
bool h2_is_reading_head(const struct h2 *h2);

/* ---- for h2_client ---- */

/* Whether the peer and we may begin one more stream. */
bool h2_has_room(const struct h2 *h2);

/* Whether it relays other protocols on streams (RFC 8441). */
bool h2_takes_connect(const struct h2 *h2);

#endif
