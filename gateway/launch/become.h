/*
 * become - the last steps of a process that becomes a sandboxed program,
 * whether it is the command of the run or one that was sent in later.
 *
 * It gives up limits, capabilities and system calls, in this order, because
 * each step needs what the next one takes.
 */
#ifndef GATEWAY_LAUNCH_BECOME_H
#define GATEWAY_LAUNCH_BECOME_H

#include "gateway/launch/environment.h"
#include "gateway/launch/report.h"

struct bounds;
struct plan;

struct become {
	const struct plan *plan;
	const struct bounds *bounds;
	const char *cwd;
	char *const *argv; /* ends in NULL */
	struct environment environment;
	int control; /* where the listener for its execve goes; -1: none */
};

/* On failure *ret_stage says which step it was. */
int become_confined(const struct become *become, enum stage *ret_stage,
    struct problem *reterr) MUST_CHECK;

/* Executes.  Returns only when that failed, with the exit code for it. */
int become_executed(const struct become *become, struct problem *reterr);

#endif
