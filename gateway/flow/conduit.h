/*
 * conduit - a stream with its buffers and events: what both HTTP/1 sides stand
 * on.
 *
 * Input gathers in one piece of LIMIT_RELAY_BYTES, so that a head can be read
 * where it lies; output gathers until conduit_flush().  A buffer is held only
 * while something is in it, so an idle connection holds none.
 */
#ifndef GATEWAY_FLOW_CONDUIT_H
#define GATEWAY_FLOW_CONDUIT_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct plane;
struct stream;
struct conduit;

/* The socket is readable or writable, or a flush went through. */
typedef void conduit_call(void *arg);

/* Takes stream, also on failure. */
struct conduit *conduit_new(struct plane *plane, struct stream *stream,
    conduit_call *on_ready, void *arg) MUST_CHECK;

/* Closes; what was not sent is lost.  May be called from on_ready. */
void conduit_free(struct conduit *conduit);

/* The same, and the peer sees a reset. */
void conduit_reset(struct conduit *conduit);

/*
 * Reads what the peer has sent, as far as there is room.  STATUS_OK: bytes
 * came; STATUS_AGAIN: none for now; STATUS_FULL: no room; STATUS_CLOSED: the
 * clean end was reached; otherwise the connection failed.
 */
int conduit_fill(struct conduit *conduit) MUST_CHECK;

/* Whether nothing has come, not even the end; for one that is idle. */
bool conduit_is_quiet(const struct conduit *conduit);

/*
 * What was read and not eaten.  It may move in conduit_fill(), unless it is
 * pinned because somebody borrows from it.
 */
struct cursor conduit_input(const struct conduit *conduit);
void conduit_pin(struct conduit *conduit, bool pinned);
void conduit_eat(struct conduit *conduit, size_t length);

/* How much may be put now. */
size_t conduit_room(const struct conduit *conduit);

/* A writer over the room; conduit_wrote() keeps what was written. */
struct cursor_writer conduit_writer(struct conduit *conduit);
void conduit_wrote(struct conduit *conduit, const struct cursor_writer *out);
void conduit_put(struct conduit *conduit, struct cursor bytes);

/*
 * Sends what waits.  STATUS_OK: all is out of our hands; STATUS_AGAIN: some
 * still waits, on_ready will tell; otherwise the connection failed.
 */
int conduit_flush(struct conduit *conduit) MUST_CHECK;

/* Whether nothing waits to be sent. */
bool conduit_is_flushed(const struct conduit *conduit);

/* Says the end of what we send, once all is out; STATUS_AGAIN as above. */
int conduit_shutdown(struct conduit *conduit) MUST_CHECK;

/* Waits for the socket to be readable, or not. */
void conduit_want_input(struct conduit *conduit, bool wanted);

/* Calls on_ready in a tick of its own. */
void conduit_kick(struct conduit *conduit);

/* Bytes of the message layer since the conduit was made. */
uint64_t conduit_sent(const struct conduit *conduit);
uint64_t conduit_received(const struct conduit *conduit);

#endif
