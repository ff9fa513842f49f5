/*
 * bounds - which limit of a plan is kept by what on this machine.
 *
 * A control group keeps what it can; resource limits and a look at the
 * sandbox every now and then keep the rest.  A limit that was asked for and
 * that nothing keeps is an error, unless the plan says best_effort: then it
 * is told, as is a default that nothing keeps.
 */
#ifndef GATEWAY_LAUNCH_BOUNDS_H
#define GATEWAY_LAUNCH_BOUNDS_H

#include "gateway/launch/cgroup.h"
#include "schema/attr.h"
#include "schema/problem.h"

struct outcome;
struct plan;

struct bounds {
	const struct plan *plan;
	struct cgroup cgroup;
	bool data; /* memory by RLIMIT_DATA and by looking */
	bool spread; /* processors by affinity */
	uint64_t seed; /* which ones */
	uint64_t memory; /* bytes; 0: none */
	uint64_t memory_peak, processes_peak;
	uint64_t ticks; /* as they were when the sandbox was last busy */
	int64_t busy_us; /* and when that was */
	int64_t disk_us; /* when the disk is looked at next */
};

/* How a sandbox is found by bounds_look(). */
enum bounds_verdict {
	BOUNDS_KEPT,
	BOUNDS_MEMORY,
	BOUNDS_DISK,
	BOUNDS_IDLE
};

/* Borrows plan until bounds_done(), which is due in any case; adds to what is
 * degraded in the outcome. */
int bounds_make(struct bounds *ret, const struct plan *plan,
    struct outcome *outcome, struct problem *reterr) MUST_CHECK;
void bounds_done(struct bounds *bounds);

/* In the command's own process. */
int bounds_enter(const struct bounds *bounds, struct problem *reterr)
    MUST_CHECK;

/* proc is the sandbox's /proc; to be called every LIMIT_LOOK_MS. */
enum bounds_verdict bounds_look(
    struct bounds *bounds, int proc, int64_t now_us);

/* At the end: whether want of memory killed, and the peaks. */
void bounds_tell(const struct bounds *bounds, struct outcome *outcome);

#endif
