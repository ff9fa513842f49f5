/*
 * fdpass - one packet with its descriptors across a Unix socket.
 *
 * For SOCK_SEQPACKET: a packet comes whole or not at all.  A packet that was
 * cut, or whose descriptors were cut, is STATUS_MALFORMED and its descriptors
 * are closed.
 */
#ifndef GATEWAY_PROC_FDPASS_H
#define GATEWAY_PROC_FDPASS_H

#include "schema/attr.h"
#include "schema/limits.h"

#include <stdbool.h>

#include <stddef.h>

/* Descriptors that came with a packet; -1 where one was taken out. */
struct fdpass {
	int fds[LIMIT_FRAME_FDS];
	size_t count;
};

/* Closes what is still in there. */
void fdpass_done(struct fdpass *fds);

/* Takes descriptor number index out: the caller owns it now. */
int fdpass_take(struct fdpass *fds, size_t index);

/*
 * Sends one packet; the descriptors stay the caller's.  STATUS_AGAIN when the
 * socket is full, STATUS_CLOSED when nobody listens.
 */
int fdpass_send(int socket, const void *bytes, size_t length, const int *fds,
    size_t count) MUST_CHECK;

/*
 * Receives one packet of at most size bytes.  STATUS_AGAIN when there is
 * none, STATUS_CLOSED at the end.
 */
int fdpass_receive(int socket, void *bytes, size_t size, size_t *ret_length,
    struct fdpass *ret_fds) MUST_CHECK;

/* A connected pair, close-on-exec; the first one also non-blocking. */
int fdpass_pair(int ret[2]) MUST_CHECK;

#endif
