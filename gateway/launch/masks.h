/*
 * masks - what lies in a directory of the view and is not for the sandbox.
 *
 * Secrets are found by their names, some also by what stands in them, and by
 * the plan's patterns; so are sockets, behind which a program of the host may
 * wait.  A hidden file is hidden under all of its names: where it has hard
 * links, or where a link with a secret's name leads to it, it is looked for a
 * second time by its inode.
 *
 * In an overlay each becomes a whiteout before the sandbox begins, which
 * holds whatever the host does meanwhile: see overlay.  In a directory whose
 * writes go through, each is covered by something that nobody may open, and
 * the watched names of files/sensitive that exist become read-only.  That
 * holds for what is there at the start: a file that the host replaces by
 * renaming another over it is seen again.
 */
#ifndef GATEWAY_LAUNCH_MASKS_H
#define GATEWAY_LAUNCH_MASKS_H

#include "gateway/launch/search.h"
#include "schema/attr.h"
#include "schema/problem.h"

struct mounts;
struct plan;

/* Who is told: of each hidden path, below the workspace, and of what could
 * not be done for certain, in a sentence. */
struct masks_listener {
	void (*on_hidden)(const char *path, void *arg);
	void (*on_degraded)(const char *text, void *arg);
	void *arg;
};

/* Hides one entry; one that is hidden already stays so. */
struct masks_hider {
	int (*hide)(const struct search_entry *entry, void *arg,
	    struct problem *reterr);
	void *arg;
};

/*
 * Calls hider for every entry below top that is not to be seen.  The plan's
 * own patterns count when with_patterns; one that matches nothing is told.
 */
int masks_find(int top, const struct plan *plan, bool with_patterns,
    const struct masks_hider *hider, const struct masks_listener *listener,
    struct problem *reterr) MUST_CHECK;

/* Covers what masks_find() finds at a directory of the view. */
int masks_hide(struct mounts *mounts, const struct plan *plan, const char *at,
    const struct masks_listener *listener, struct problem *reterr) MUST_CHECK;

int masks_freeze(struct mounts *mounts, const char *at,
    const struct masks_listener *listener, struct problem *reterr) MUST_CHECK;

#endif
