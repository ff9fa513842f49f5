/*
 * serve - what the parent asks of a running sandbox: to pause, to go on, to
 * stop, and to run another program in it.
 *
 * It owns the parent's channel.  A table says which frame is legal; anything
 * else ends the channel, and with it the sandbox.
 */
#ifndef GATEWAY_LAUNCH_SERVE_H
#define GATEWAY_LAUNCH_SERVE_H

#include "gateway/launch/pause.h"
#include "schema/attr.h"

#include <stdbool.h>

struct bounds;
struct loop;
struct plan;
struct serve;
struct userns_ids;

/* Told to whoever watches the sandbox. */
struct serve_events {
	void (*on_go)(void *arg); /* the command may be started */
	void (*on_stop)(void *arg); /* it is to end */
	void (*on_pause)(bool paused, void *arg); /* it does now */
	void (*on_left)(void *arg); /* the parent is gone */
	/* Takes fd: the notifications of a program that was sent in. */
	void (*on_recorder)(int fd, void *arg);
};

/* Takes parent, also on failure.  NULL: no memory. */
struct serve *serve_new(struct loop *loop, int parent,
    const struct serve_events *events, void *arg) MUST_CHECK;

/* Ends every program that was sent in. */
void serve_free(struct serve *serve);

/* The running sandbox; all borrowed until serve_free(). */
struct serve_target {
	const struct plan *plan;
	const struct bounds *bounds;
	const struct userns_ids *ids;
	int init; /* a pidfd */
	struct pause pause;
};

/* From now on there is one. */
void serve_begin(struct serve *serve, const struct serve_target *target);

#endif
