/*
 * loop - the event base, signals as events, and work put off to the end of
 * the tick.
 *
 * Objects are freed at the end of the tick and never inside a callback that
 * runs on them: put the freeing off with loop_defer().
 */
#ifndef GATEWAY_PROC_LOOP_H
#define GATEWAY_PROC_LOOP_H

#include "schema/attr.h"

struct event_base;
struct loop;
struct loop_signal;

typedef void loop_call(void *arg);

/* NULL when there is no memory or no epoll. */
struct loop *loop_new(void) MUST_CHECK;

/*
 * The same for many short connections: what is watched changes several times
 * in a tick, and the kernel is told once, before it waits.  Only where no
 * other process holds the sockets too: one that is closed within the tick
 * would be watched for as long as somebody has it, and wake us without end.
 */
struct loop *loop_new_sole(void) MUST_CHECK;
void loop_free(struct loop *loop);

/* Borrows from loop; for event_new() and evdns. */
struct event_base *loop_base(struct loop *loop);

/*
 * Calls call(arg) once after the callbacks of this tick.  It cannot fail:
 * the caller brings the room.  An item that is already waiting waits once.
 */
struct loop_deferred {
	loop_call *call;
	void *arg;
	struct loop_deferred *next;
	int waiting;
};
void loop_defer(struct loop *loop, struct loop_deferred *item);

/* Takes it off again if it waits. */
void loop_undefer(struct loop *loop, struct loop_deferred *item);

/*
 * Does what was put off, and what that puts off, now: for taking things down
 * behind the loop.
 */
void loop_settle(struct loop *loop);

/* The signal number arrives as a call; NULL when there is no memory. */
struct loop_signal *loop_signal_new(
    struct loop *loop, int number, loop_call *call, void *arg) MUST_CHECK;
void loop_signal_free(struct loop_signal *signal);

/* Runs until loop_stop(); STATUS_SYSTEM when the kernel's poll fails. */
int loop_run(struct loop *loop) MUST_CHECK;
void loop_stop(struct loop *loop);

#endif
