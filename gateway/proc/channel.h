/*
 * channel - frames over a packet socket in our loop.
 *
 * Sending queues what the socket does not take, up to LIMIT_CHANNEL_QUEUE
 * frames; the caller is told when the queue has drained.  A frame that is too
 * long, of an unknown type or with other descriptors than its type has ends
 * the channel with STATUS_MALFORMED: there is one way to end a bad peer, and
 * it is channel_end().  After the end nothing is sent or received; the owner
 * frees.
 */
#ifndef GATEWAY_PROC_CHANNEL_H
#define GATEWAY_PROC_CHANNEL_H

#include "gateway/proc/fdpass.h"
#include "schema/frame.h"

#include <stdbool.h>

struct channel;
struct loop;

struct channel_events {
	/* fds are closed afterwards unless taken with fdpass_take(). */
	void (*on_frame)(struct channel *channel, const struct frame *frame,
	    struct fdpass *fds, void *arg);
	/* Once: STATUS_CLOSED when the peer left, else what was wrong. */
	void (*on_end)(struct channel *channel, int status, void *arg);
	/* The queue is empty again after it was not; may be NULL. */
	void (*on_drained)(struct channel *channel, void *arg);
};

/*
 * Takes fd, makes it non-blocking.  events and arg are borrowed until the
 * channel is freed.  NULL when there is no memory; fd is closed then too.
 */
struct channel *channel_new(struct loop *loop, int fd,
    const struct channel_events *events, void *arg) MUST_CHECK;

/* May be called from the channel's own callbacks. */
void channel_free(struct channel *channel);

/*
 * Sends what out holds, with copies of the descriptors.  STATUS_FULL when the
 * queue is full, STATUS_CLOSED after the end, STATUS_TOO_LONG when out has
 * overflowed.
 */
int channel_send(struct channel *channel, const struct cursor_writer *out,
    const int *fds, size_t count) MUST_CHECK;

/* Whether all that was sent has left. */
bool channel_is_drained(const struct channel *channel);

/* Ends it now; on_end is told at the end of the tick. */
void channel_end(struct channel *channel, int status);

#endif
