/*
 * desk - where the owner speaks to a run: its socket, served by `exeat run`.
 *
 * What the gateway asks is kept here until it is over; commands of the same
 * account list it, answer it, or hand in another policy.  One that was
 * answered hears what became of the answer, from the gateway's own mouth: a
 * late one is told so.  The policy changes as a whole or not at all, and the
 * layers that stand over the run stay over it: who hands one in can replace
 * only what the run was started with.
 *
 * Without a folder of its own a run would be deaf, so that is a failure.
 */
#ifndef GATEWAY_CLI_DESK_H
#define GATEWAY_CLI_DESK_H

#include "schema/frame.h"
#include "schema/problem.h"

struct channel;
struct desk;
struct fdpass;
struct loop;
struct policies;
struct settings;
struct steward;
struct task;

/* All borrowed until desk_free(). */
struct desk_order {
	struct loop *loop;
	const char *run;
	const struct task *task;
	const struct settings *settings;
	const struct policies *policies; /* that the run was started with */
	struct channel *gateway, *audit, *launcher;
	struct steward *steward; /* NULL: the run has no credentials */
};

/* Makes the run's folder, and takes questions to a terminal if there is one. */
int desk_new(const struct desk_order *order, struct desk **ret,
    struct problem *reterr) MUST_CHECK;

/* Takes everything down; its channels are needed no more. */
void desk_free(struct desk *desk);

/* A frame of the gateway's or the writer's; false when it is not one of ours.
 */
bool desk_take(struct desk *desk, const struct frame *frame) MUST_CHECK;

/* A frame of the launcher's; false when it may not say that. */
bool desk_hear(struct desk *desk, const struct frame *frame, struct fdpass *fds)
    MUST_CHECK;

#endif
