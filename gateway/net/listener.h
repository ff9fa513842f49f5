/*
 * listener - connections accepted on a socket that was handed to us.
 *
 * The socket listens already; with TPROXY, or behind a local default route,
 * the accepted socket's own address is where the program meant to go.  A tick
 * accepts a bounded number, so that a flood of connections does not starve
 * those that are open.  When descriptors or memory run short, accepting
 * pauses for a moment instead of spinning; connections wait in the backlog.
 */
#ifndef GATEWAY_NET_LISTENER_H
#define GATEWAY_NET_LISTENER_H

#include "schema/attr.h"

struct endpoint;
struct event_base;
struct listener;

/*
 * Gives fd: connected, not blocking, closed on exec, TCP_NODELAY on.  meant
 * is its own end, from the other.  The listener may be paused and freed here.
 */
typedef void listener_call(int fd, const struct endpoint *meant,
    const struct endpoint *from, void *arg);

/*
 * Takes fd, a listening socket, and begins; it is set not to block.  NULL
 * (errno says why) leaves fd to the caller.
 */
struct listener *listener_new(struct event_base *base, int fd,
    listener_call *on_accept, void *arg) MUST_CHECK;

/* Closes the socket. */
void listener_free(struct listener *listener);

/* At the cap of flows: nothing is accepted until listener_resume(). */
void listener_pause(struct listener *listener);
void listener_resume(struct listener *listener);

#endif
