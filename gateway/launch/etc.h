/*
 * etc - an /etc made for the sandbox.
 *
 * One user, one group, names of its own, a name server that is the gateway;
 * of the machine only what programs need to run and that tells nothing about
 * it.  No shadow, no keys, no container or cluster settings, no proxy.
 */
#ifndef GATEWAY_LAUNCH_ETC_H
#define GATEWAY_LAUNCH_ETC_H

#include "schema/attr.h"
#include "schema/problem.h"

struct mounts;
struct plan;

int etc_build(struct mounts *mounts, const struct plan *plan,
    struct problem *reterr) MUST_CHECK;

#endif
