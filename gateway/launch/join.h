/*
 * join - another program into a running sandbox.
 *
 * A process of ours enters the sandbox's namespaces by the pidfd of its init,
 * starts the program in there and waits for it outside of the sandbox's
 * process namespace, so nothing in there can see or reach it.  The program is
 * confined as the run's own command is; it ends with the sandbox and with the
 * launcher.
 */
#ifndef GATEWAY_LAUNCH_JOIN_H
#define GATEWAY_LAUNCH_JOIN_H

#include "gateway/launch/userns.h"
#include "schema/attr.h"
#include "schema/problem.h"

struct bounds;
struct plan;
struct reins_exec;

/* All borrowed for the call. */
struct join_order {
	const struct plan *plan;
	const struct bounds *bounds;
	const struct userns_ids *ids;
	int init; /* a pidfd */
	const struct reins_exec *exec;
	const int *fds; /* standard input, output, error */
};

struct joined {
	pid_t pid;
	int pidfd; /* readable once the program has ended */
	/* Tells REPORT_TERMINAL, then REPORT_FAILED if it could not start. */
	int control;
};

int join_start(const struct join_order *order, struct joined *ret,
    struct problem *reterr) MUST_CHECK;

/* Reaps it once its pidfd is readable; the exit code as exeat run has it. */
unsigned join_code(const struct joined *joined);

/* Makes what still runs end, and closes. */
void joined_done(struct joined *joined);

#endif
