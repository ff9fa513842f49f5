/*
 * wire - what lies between a stream and its socket.
 *
 * Towards us: the bytes that were read before, then those of the socket.
 * Away: the records that one write makes, gathered so that they leave in one
 * piece; the buffer is lent by a pool and held only while something waits.
 *
 * wire_bio() gives it to OpenSSL, which thinks that it writes to the socket;
 * whoever called OpenSSL calls wire_flush() afterwards.
 */
#ifndef GATEWAY_TLS_WIRE_H
#define GATEWAY_TLS_WIRE_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bio_method_st;
struct bio_st;
struct pool;

struct wire {
	int fd; /* owned */
	unsigned char *first; /* read before; owned */
	size_t first_at, first_left;
	struct pool *pool; /* may be NULL when nothing is gathered */
	unsigned char *out; /* lent by pool while out_left is not 0 */
	size_t out_at, out_left;
	bool drained; /* the last read took all that was there */
	bool starved; /* there was nothing, and nothing has come since */
	bool ended; /* the peer's end was read */
	int error; /* errno of what the socket failed with, or 0 */
};

/*
 * Takes fd; first is copied.  STATUS_NO_MEMORY leaves fd to the caller and
 * *wire for wire_done().
 */
int wire_init(struct wire *wire, int fd, struct cursor first, struct pool *pool)
    MUST_CHECK;
void wire_done(struct wire *wire);

/* As recv(2): -1 with errno, 0 at the end, or how many. */
ssize_t wire_read(struct wire *wire, void *out, size_t size);

/*
 * Asks the socket whether nothing has come and it is still open; takes
 * nothing off it.
 */
bool wire_is_quiet(struct wire *wire);

/* As send(2), past what is gathered: for streams in the clear. */
ssize_t wire_send(struct wire *wire, const void *bytes, size_t length);

/* STATUS_OK nothing waits, STATUS_AGAIN, or STATUS_SYSTEM. */
int wire_flush(struct wire *wire) MUST_CHECK;

/* One for each context of TLS, which outlives all BIOs made with it. */
struct bio_method_st *wire_method_new(void) MUST_CHECK;

/* Borrows wire, which outlives it. */
struct bio_st *wire_bio(const struct bio_method_st *method, struct wire *wire)
    MUST_CHECK;

#endif
