/*
 * sink - where a producer puts its events.
 *
 * sink_put() copies the event into the frame of this tick; the frame leaves
 * at the end of the tick, or earlier when it is full.  Who asked to wait is
 * called back once, with the row's number, or with 0 when the row will never
 * be accepted: the writer is gone, cannot write, or did not answer within
 * LIMIT_AUDIT_WAIT_MS.  Then nothing may leave.
 *
 * Nothing is dropped silently: while the writer is behind by more than
 * LIMIT_EVENTS_WAITING events, or gone, sink_is_open() is false and the
 * producer refuses new work with REASON_AUDIT_UNAVAILABLE.
 */
#ifndef GATEWAY_AUDIT_SINK_H
#define GATEWAY_AUDIT_SINK_H

#include "schema/event.h"

#include <stdbool.h>

struct loop;
struct sink;

/*
 * One wait; the caller's room, zeroed but for on_accepted, and untouched
 * until the call.  sink_forget() takes it back before its owner is freed.
 */
struct sink_wait {
	void (*on_accepted)(struct sink_wait *wait, int64_t seq);
	uint64_t number;
	struct sink_wait *next, **previous; /* previous is NULL outside */
	int64_t deadline_us;
};

/*
 * Takes the descriptor of the producer's channel.  sink_free() forgets every
 * wait; it must not be called from on_accepted or on_change.
 */
struct sink *sink_new(struct loop *loop, int fd) MUST_CHECK;
void sink_free(struct sink *sink);

/* Told when it opens or closes; may be NULL. */
void sink_watch(
    struct sink *sink, void (*on_change)(bool open, void *arg), void *arg);

bool sink_is_open(const struct sink *sink);

/*
 * Fills in event->number.  wait is NULL unless event->wait asks to wait.
 * STATUS_CLOSED when the writer is gone, STATUS_FULL when it is behind by
 * LIMIT_EVENTS_HELD events, STATUS_TOO_LONG or STATUS_MALFORMED for an event
 * that the writer would not take: then no row will be written, and wait is
 * not called.
 */
int sink_put(struct sink *sink, struct event *event, struct sink_wait *wait)
    MUST_CHECK;

/* Also for a wait that was called or never put. */
void sink_forget(struct sink *sink, struct sink_wait *wait);

/* Sends what is gathered now. */
void sink_flush(struct sink *sink);

/* How many events were put and not yet accepted. */
uint64_t sink_waiting(const struct sink *sink);

#endif
