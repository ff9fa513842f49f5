/*
 * view - the directories of the machine that the sandbox sees, and the empty
 * ones it gets.
 *
 * An allow-list: what is not named here is not there.  No home, no /run, no
 * /sys, nothing of /var but the package lists.
 */
#ifndef GATEWAY_LAUNCH_VIEW_H
#define GATEWAY_LAUNCH_VIEW_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdint.h>

#define VIEW_HOME_PARENT "/home"

struct mounts;
struct plan;

/* /usr and its links, tools, /tmp, /run and the empty home. */
int view_build(struct mounts *mounts, const struct plan *plan,
    struct problem *reterr) MUST_CHECK;

#endif
