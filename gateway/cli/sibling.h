/*
 * sibling - one program that we started, until it has ended.
 */
#ifndef GATEWAY_CLI_SIBLING_H
#define GATEWAY_CLI_SIBLING_H

#include "gateway/proc/loop.h"
#include "gateway/proc/spawn.h"

#include <stdbool.h>

struct event;

struct sibling {
	struct spawned spawned;
	struct event *ended; /* its pidfd in our loop */
	loop_call *on_ended;
	void *arg;
	int status; /* as waitpid() has it, once it ended */
	bool runs;
};

/* None yet: it does not run, and sibling_done() takes it. */
void sibling_init(struct sibling *sibling);

/* on_ended is called once, when it has ended and is reaped. */
int sibling_start(struct sibling *sibling, struct loop *loop,
    const struct spawn *spawn, struct problem *reterr) MUST_CHECK;

/* Nothing happens when it does not run. */
void sibling_signal(const struct sibling *sibling, int number);

/* The process is left alone. */
void sibling_done(struct sibling *sibling);

#endif
