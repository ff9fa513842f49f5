/*
 * pause - a sandbox that stands still for a while.
 *
 * By the freezer where there is one, and nobody in there can tell; else by
 * SIGSTOP to everybody, again and again until nobody runs, which parents in
 * there can see.
 */
#ifndef GATEWAY_LAUNCH_PAUSE_H
#define GATEWAY_LAUNCH_PAUSE_H

#include "schema/attr.h"

#include <stdbool.h>

struct cgroup;

/* All borrowed. */
struct pause {
	const struct cgroup *cgroup;
	int control; /* of the sandbox's init */
	int proc; /* the sandbox's */
};

/* Begins, or asks again; pause_is_done() says whether it has come true. */
int pause_ask(const struct pause *pause, bool paused) MUST_CHECK;
bool pause_is_done(const struct pause *pause);

#endif
