/*
 * devices - a /dev of six harmless nodes and a pseudo-terminal of its own,
 * and a /proc of the sandbox's own processes.
 *
 * /proc loses what speaks about the whole machine, and its settings become
 * read-only.  Before that, the settings of the sandbox's own namespaces are
 * written: no user namespace may be made in it, unless the plan wants nested
 * sandboxes, which also need /proc without anything mounted over it.
 */
#ifndef GATEWAY_LAUNCH_DEVICES_H
#define GATEWAY_LAUNCH_DEVICES_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>

struct mounts;

int devices_build(struct mounts *mounts, struct problem *reterr) MUST_CHECK;

int devices_proc(struct mounts *mounts, bool nested, struct problem *reterr)
    MUST_CHECK;

#endif
