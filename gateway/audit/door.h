/*
 * door - one writer a database: the lock that says so, and the socket where
 * later runs find it.
 *
 * Beside the database stand <db>.lock, held as long as its writer lives, and
 * <db>.sock.  The folder must be ours and writable by nobody else, because
 * who can rename files in it can take the writer's place.  The socket is
 * reached through the folder's descriptor, so a path may be longer than the
 * 107 bytes that a socket's address holds.
 */
#ifndef GATEWAY_AUDIT_DOOR_H
#define GATEWAY_AUDIT_DOOR_H

#include "schema/problem.h"

#include <stdbool.h>

struct door;

/*
 * STATUS_OK: we are the writer of the database at path, and listen.
 * STATUS_REFUSED: another process is, and answers.  STATUS_AGAIN: another
 * holds the lock and does not answer yet, or no more; try again shortly.
 */
int door_open(const char *path, struct door **ret, struct problem *reterr)
    MUST_CHECK;

/* Takes the socket away and gives up the lock. */
void door_close(struct door *door);

/*
 * Takes the socket's name away, or gives it back: who stands in the queue can
 * still be accepted, and nobody comes any more.
 */
int door_hide(const struct door *door, bool hidden) MUST_CHECK;

/* The listening socket, non-blocking; borrows from door. */
int door_socket(const struct door *door);

/*
 * One connection of a process of our user.  STATUS_AGAIN when there is none,
 * STATUS_REFUSED when it was another user's, and is closed.
 */
int door_accept(const struct door *door, int *ret_fd) MUST_CHECK;

#endif
