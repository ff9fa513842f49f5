/*
 * cgroup - the control groups of one sandbox: what they limit, what was used,
 * and the freezer.
 *
 * One group for each controller that we may make one under: version 2 where
 * its controllers are ours to give, version 1 as root.  Where there is none
 * it is simply not there, and bounds.h finds another way or none.  A group is
 * locked by the launcher that made it; what a killed one left is removed by
 * whoever makes the next.
 */
#ifndef GATEWAY_LAUNCH_CGROUP_H
#define GATEWAY_LAUNCH_CGROUP_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_FREEZER,
	CGROUP_CONTROLLER_COUNT
};

struct cgroup {
	/* A directory for each controller, several times the same one with
	 * version 2; -1: there is none. */
	int groups[CGROUP_CONTROLLER_COUNT];
	int parents[CGROUP_CONTROLLER_COUNT]; /* where it is removed from */
	bool v2[CGROUP_CONTROLLER_COUNT];
	char name[80];
};

/* Makes what can be made; run is part of the name. */
void cgroup_make(const char *run, struct cgroup *ret);

/* Removes it; nobody may be in it any more. */
void cgroup_done(struct cgroup *cgroup);

bool cgroup_has(const struct cgroup *cgroup, enum cgroup_controller controller);

/* In bytes, processes, and thousandths of a processor. */
int cgroup_limit(const struct cgroup *cgroup, enum cgroup_controller controller,
    uint64_t value) MUST_CHECK;

/* Puts a process, and what it will start, into all of them. */
int cgroup_add(const struct cgroup *cgroup, pid_t pid) MUST_CHECK;

/* Starts to freeze or thaw; cgroup_is_frozen() tells when it is done. */
int cgroup_freeze(const struct cgroup *cgroup, bool frozen) MUST_CHECK;
bool cgroup_is_frozen(const struct cgroup *cgroup);

/* How often the kernel killed for want of memory; 0 when nobody knows. */
uint64_t cgroup_kills(const struct cgroup *cgroup);

/* The most bytes, or processes, there ever were; 0 when nobody knows. */
uint64_t cgroup_peak(
    const struct cgroup *cgroup, enum cgroup_controller controller);

#endif
