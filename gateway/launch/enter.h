/*
 * enter - the plan carried out: from a checked plan to a command that waits
 * for one byte to run.
 *
 * Outside, enter_start() makes the namespaces and the process in them; that
 * process runs the steps of enter.c in their order.  A step that fails is
 * told as {stage, what, cure} on the control socket, and nothing after it is
 * done: the command is executed by the last step and by no other.
 */
#ifndef GATEWAY_LAUNCH_ENTER_H
#define GATEWAY_LAUNCH_ENTER_H

#include "gateway/launch/report.h"
#include "gateway/launch/userns.h"

struct bounds;
struct pipes;
struct plan;
struct terminal;

/* A sandbox as the launcher sees it from outside. */
struct entered {
	struct userns_child child; /* its process 1 */
	struct userns_ids ids; /* who its user is outside */
	int control; /* our end of the pair, non-blocking */
};

/* What there is outside, borrowed. */
struct enter_order {
	const struct plan *plan;
	const struct terminal *terminal;
	const struct pipes *pipes;
	const struct bounds *bounds;
};

/*
 * On failure *ret_stage says which step it was, and there is no process.
 */
int enter_start(const struct enter_order *order, struct entered *ret,
    enum stage *ret_stage, struct problem *reterr) MUST_CHECK;

/* Kills what still runs, waits for it, and closes. */
void entered_done(struct entered *entered);

#endif
