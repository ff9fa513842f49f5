/*
 * sources - what the plan wants to be seen of the machine, opened and checked
 * before the sandbox exists, and mounted only if it is still the same.
 *
 * A source is a directory or a plain file, not a link, not the root, not of
 * the machine's /proc, and no directory in which credentials lie (a home).
 * Its device and inode are kept; what is found at its path later must be
 * that.  The standard descriptors, which the command inherits, must be no
 * directories either.
 *
 * The folders of an overlay are sources too, behind the mounts in the list;
 * they are nobody's mounts but parts of the workspace: see overlay.
 *
 * For root the mounts are made here, outside, where root can reach them, and
 * id-mapped: the sandbox's user owns in them what their owner owns, and what
 * it makes belongs to that owner.
 */
#ifndef GATEWAY_LAUNCH_SOURCES_H
#define GATEWAY_LAUNCH_SOURCES_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mounts;
struct plan;
struct plan_mount;
struct userns_ids;

struct source {
	const struct plan_mount *mount; /* borrowed from the plan */
	dev_t device;
	ino_t inode;
	uid_t uid;
	gid_t gid;
	bool directory;
	int fd; /* the place itself, outside */
	int tree; /* a detached mount made outside, or -1 */
};

struct sources {
	struct source *list;
	size_t count; /* in all */
	size_t mount_count; /* those before the folders of an overlay */
};

int sources_open(const struct plan *plan, struct sources *ret,
    struct problem *reterr) MUST_CHECK;
void sources_done(struct sources *sources);

/*
 * For root: makes the trees, and changes *ids to the workspace owner's where
 * id-mapped mounts are not possible.
 */
int sources_map(struct sources *sources, const struct plan *plan,
    struct userns_ids *ids, struct problem *reterr) MUST_CHECK;

/* Inside: whether what is at the source's path is still what was opened;
 * gives it. */
int sources_reopen(const struct source *source, int *ret_fd,
    struct problem *reterr) MUST_CHECK;

/* Inside: mounts one into the view. */
int sources_mount(struct source *source, struct mounts *mounts,
    struct problem *reterr) MUST_CHECK;

#endif
