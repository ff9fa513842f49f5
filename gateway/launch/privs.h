/*
 * privs - what the sandboxed program may not have: capabilities, new
 * privileges, and more than its share.
 */
#ifndef GATEWAY_LAUNCH_PRIVS_H
#define GATEWAY_LAUNCH_PRIVS_H

#include "schema/attr.h"
#include "schema/problem.h"

struct plan;

/* Resource limits; needs no capability, so it may stand anywhere. */
int privs_limit(const struct plan *plan, struct problem *reterr) MUST_CHECK;

/* Every capability out of every set, for good; no new privileges. */
int privs_drop(struct problem *reterr) MUST_CHECK;

#endif
