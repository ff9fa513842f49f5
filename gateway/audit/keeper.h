/*
 * keeper - a process beside the writer for what takes long.
 *
 * It takes rows into the rollup, seals segments that were left and removes
 * those that are pruned.  A process of its own, at the lowest priority:
 * building indexes for a minute costs the writer no latency, a crash in it no
 * row, and the two share no handle.  One that dies is told of in the log and
 * another one takes its place; it dies with the writer, and whatever it was
 * doing is done again by the next.
 *
 * Between the two stands a nurse, which is started before anything is open or
 * confined, and does nothing but fork keepers.
 */
#ifndef GATEWAY_AUDIT_KEEPER_H
#define GATEWAY_AUDIT_KEEPER_H

#include "schema/problem.h"

#include <stdint.h>

struct keeper;
struct loop;

enum keeper_job {
	KEEPER_TEND = 'T', /* rollup, then seal what can be */
	KEEPER_REMOVE = 'R' /* the files of a segment */
};

/* Told once; problem is NULL when it went well, and borrowed. */
typedef void keeper_done(void *arg, const char *problem);

/* The words of the program that become it: this, and the audit. */
#define KEEPER_OPTION "--keep"

/* In that program: the nurse, until the writer has gone from descriptor 3. */
void keeper_serve(const char *audit);

/* Borrows both for its life. */
int keeper_new(struct loop *loop, const char *audit, struct keeper **ret,
    struct problem *reterr) MUST_CHECK;

/* Waits a while for what it is doing, then ends it; nobody is told. */
void keeper_free(struct keeper *keeper);

/* done may be NULL.  STATUS_CLOSED when there is none, STATUS_FULL. */
int keeper_ask(struct keeper *keeper, enum keeper_job job, int64_t segment,
    keeper_done *done, void *arg) MUST_CHECK;

/* Jobs of arg are done, but not told of. */
void keeper_forget(struct keeper *keeper, const void *arg);

#endif
