/*
 * caller - one command that is connected to a run's desk.
 *
 * Shared by the files that answer it, and open to nobody else.
 */
#ifndef GATEWAY_CLI_CALLER_H
#define GATEWAY_CLI_CALLER_H

#include "gateway/cli/policies.h"
#include "gateway/proc/loop.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct channel;
struct desk;
struct lead;
struct problem;
struct task;

/* What it may ask about the run. */
struct caller_run {
	const char *name;
	const struct task *task;
	int64_t started_us;
	struct lead *lead;
};

struct caller {
	LIST_ENTRY(caller) entry;
	struct desk *desk;
	const struct caller_run *run;
	struct channel *channel;
	struct loop_deferred freeing;
	char waits_for[LIMIT_ASK_ID + 1]; /* a question; or empty */
	bool yes; /* what it said to it */
	struct policies layers; /* handed in so far */
};

/* The last word on what it wanted; without a problem all went well. */
void caller_done(struct caller *caller, const struct problem *problem);

/* The same, with a sentence of ours. */
void caller_refuse(struct caller *caller, const char *text);

#endif
