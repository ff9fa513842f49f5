/*
 * stream - bytes both ways over one socket, in the clear or in TLS; what the
 * HTTP code reads and writes.
 *
 * Nothing here blocks or waits: a call that cannot go on returns STATUS_AGAIN
 * and the caller waits for the socket, to be readable always and writable
 * while stream_wants_write().  Two rules follow for a caller that uses
 * level-triggered events:
 * - read until STATUS_AGAIN or ask stream_has_pending() before you wait:
 *   bytes that were already taken off the socket make it readable no more
 *   (after STATUS_AGAIN wait, whatever is pending: it is half a record);
 * - what stream_write() took may still lie here: call stream_flush() when the
 *   socket becomes writable.
 *
 * A stream owns its socket.  The end of a TLS stream is its close_notify (RFC
 * 8446 section 6.1); a connection that ends without it is STATUS_MALFORMED,
 * because whoever cut it may have cut the message too.
 */
#ifndef GATEWAY_TLS_STREAM_H
#define GATEWAY_TLS_STREAM_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bio_method_st;
struct pool;
struct problem;
struct ssl_st;
struct stream;

/* What one stream_write() takes at most, and the pool's buffers hold. */
#define STREAM_WRITE_MAX 65536
#define STREAM_BUFFER (STREAM_WRITE_MAX + 1024)

/*
 * A stream in the clear; first is what was read from fd before, and is read
 * again first (copied).  TLS streams come from inside_accept() and
 * outside_connect().  Takes fd, a connected socket that does not block.
 * NULL: no memory, and fd stays the caller's.
 */
struct stream *stream_new(int fd, struct cursor first) MUST_CHECK;

/*
 * For inside and outside: the same over a session of theirs.  Takes fd, and
 * ssl with what the caller set in it; own, if not NULL, is free()d behind it.
 * NULL: no memory, and all of these stay the caller's.
 */
struct stream_order {
	struct ssl_st *ssl;
	const struct bio_method_st *method; /* of wire_method_new() */
	struct pool *pool; /* of STREAM_BUFFER */
	void *own;
	struct cursor first;
	int fd;
};
struct stream *stream_of_session(const struct stream_order *order) MUST_CHECK;

/*
 * Closes the socket and forgets what was not sent.  A clean end was made by
 * stream_shutdown() before.
 */
void stream_free(struct stream *stream);

/* The same, but the peer sees a reset: a failure is never told as an end. */
void stream_reset(struct stream *stream);

/* For events only; borrows from stream. */
int stream_fd(const struct stream *stream);

/*
 * One step of the TLS handshake; in the clear there is none to make.
 * STATUS_OK done, STATUS_AGAIN, or *reterr tells why it failed, with
 * STATUS_CLOSED (the peer left), STATUS_REFUSED (the peer's certificate does
 * not hold), or STATUS_MALFORMED.
 */
int stream_handshake(struct stream *stream, struct problem *reterr) MUST_CHECK;

/*
 * STATUS_OK and at least one byte, STATUS_AGAIN, STATUS_CLOSED (the peer's
 * clean end), STATUS_SYSTEM (reset; errno says how) or STATUS_MALFORMED.
 * STATUS_AGAIN may come once without a look at the socket, after a read that
 * emptied it: wait for it to be readable, as always.
 */
int stream_read(struct stream *stream, void *out, size_t size, size_t *ret_got)
    MUST_CHECK;

/* Whether a read would give bytes without the socket's help. */
bool stream_has_pending(const struct stream *stream);

/* Whether a read now would find nothing, not even an end; for idle streams. */
bool stream_is_quiet(struct stream *stream);

/*
 * Takes up to STREAM_WRITE_MAX bytes and sends what the socket takes, all
 * records in one piece.  STATUS_OK says how many were taken: at least one, if
 * there was one; they need not be given again.  STATUS_AGAIN: none, because
 * earlier ones still wait.  STATUS_SYSTEM, STATUS_MALFORMED as above,
 * STATUS_NO_MEMORY.
 */
int stream_write(struct stream *stream, const void *bytes, size_t length,
    size_t *ret_put) MUST_CHECK;

/* Sends what waits: STATUS_OK nothing waits, STATUS_AGAIN, STATUS_SYSTEM. */
int stream_flush(struct stream *stream) MUST_CHECK;
bool stream_wants_write(const struct stream *stream);

/*
 * Says that no more will be written: close_notify, then the socket's end.
 * STATUS_AGAIN: call it again when the socket is writable.
 */
int stream_shutdown(struct stream *stream) MUST_CHECK;

/* True when nothing is encrypted and nothing read ahead waits: fd is all. */
bool stream_is_bare(const struct stream *stream);

/*
 * Gives the socket of a bare stream and frees the stream.  For a pump.
 */
int stream_release(struct stream *stream);

/* The protocol both ends agreed on; empty when none.  Borrows. */
struct cursor stream_alpn(const struct stream *stream);

/* 0x0304 for TLS 1.3; 0 in the clear. */
unsigned stream_version(const struct stream *stream);

/* Whether the handshake resumed an earlier session. */
bool stream_is_resumed(const struct stream *stream);

#endif
