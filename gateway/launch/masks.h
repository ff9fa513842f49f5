/*
 * masks - what lies in the workspace and is not for the sandbox.
 *
 * Secrets are covered by something that nobody may open, at any depth down to
 * LIMIT_SEARCH_DEPTH: files by their names, some also by what stands in them,
 * and sockets, behind which a program of the host may wait.  A link with such
 * a name is followed as the sandbox would follow it, and what it leads to is
 * covered if it is in the workspace; elsewhere it is not in the view anyway.
 *
 * Watched names are settings that programs of the host execute later: hooks,
 * editors' and agents' configuration.  Those that exist become read-only, and
 * the directories above them can no longer be renamed away.
 *
 * Both hold for what is there at the start.  A file that the host replaces by
 * renaming another over it is seen again: that is the price of a workspace
 * whose writes go through at once.
 */
#ifndef GATEWAY_LAUNCH_MASKS_H
#define GATEWAY_LAUNCH_MASKS_H

#include "schema/attr.h"
#include "schema/problem.h"

struct mounts;

/* Who is told: of each hidden path, below the workspace, and of what could
 * not be done for certain, in a sentence. */
struct masks_listener {
	void (*on_hidden)(const char *path, void *arg);
	void (*on_degraded)(const char *text, void *arg);
	void *arg;
};

/* at: a directory of the view, as it is inside. */
int masks_hide(struct mounts *mounts, const char *at,
    const struct masks_listener *listener, struct problem *reterr) MUST_CHECK;

int masks_freeze(struct mounts *mounts, const char *at,
    const struct masks_listener *listener, struct problem *reterr) MUST_CHECK;

#endif
