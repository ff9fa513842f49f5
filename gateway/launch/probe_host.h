/*
 * probe_host - what of the machine a launch uses as it is, each tried for real.
 *
 * A step that works may leave in reterr a few words about how it is.
 */
#ifndef GATEWAY_LAUNCH_PROBE_HOST_H
#define GATEWAY_LAUNCH_PROBE_HOST_H

#include "schema/problem.h"

struct plan;

int probe_idmap(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_landlock(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_groups(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_pidfd(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_disk(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_clock(const struct plan *plan, struct problem *reterr) MUST_CHECK;

#endif
