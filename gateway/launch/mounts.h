/*
 * mounts - the tree that becomes the sandbox's root, built by descriptors.
 *
 * Every target is walked to beneath the new root without following a link,
 * and mounted on by its descriptor: what somebody plants in a directory we
 * bind cannot lead a mount elsewhere.  A mount is restricted while it is
 * still detached, so that it is never seen with more rights.
 *
 * Paths are absolute, as they are inside; the kernel is at least 5.12.
 */
#ifndef GATEWAY_LAUNCH_MOUNTS_H
#define GATEWAY_LAUNCH_MOUNTS_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mounts {
	int root;
	/* An empty file and an empty directory that nobody may open. */
	int hidden_file, hidden_directory;
};

/* What a bind is never without. */
#define MOUNTS_BOUND (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* An option of a file system; value is NULL for a flag. */
struct mounts_option {
	const char *name, *value;
};

/* Makes the namespace's mounts private and the new root, an empty tmpfs. */
int mounts_begin(struct mounts *ret, struct problem *reterr) MUST_CHECK;
void mounts_done(struct mounts *mounts);

/* Makes what is missing of a path of directories; gives the last one. */
int mounts_directory(struct mounts *mounts, const char *at, mode_t mode,
    int *ret_fd, struct problem *reterr) MUST_CHECK;

/* The same, for who needs no descriptor. */
int mounts_make(struct mounts *mounts, const char *at, mode_t mode,
    struct problem *reterr) MUST_CHECK;

/* A new file with these bytes, readable for all. */
int mounts_file(struct mounts *mounts, const char *at, const void *bytes,
    size_t length, struct problem *reterr) MUST_CHECK;

int mounts_link(struct mounts *mounts, const char *at, const char *target,
    struct problem *reterr) MUST_CHECK;

/*
 * Gives a detached copy of what is mounted at source (a path outside, or with
 * "" the open file fd) with everything below it, restricted by attributes.
 */
int mounts_copy(int fd, const char *source, uint64_t attributes, int *ret_tree,
    struct problem *reterr) MUST_CHECK;

/* Gives a detached new file system; options end with a name of NULL. */
int mounts_filesystem(const char *type, const struct mounts_option *options,
    uint64_t attributes, int *ret_tree, struct problem *reterr) MUST_CHECK;

/* Attaches a detached tree; the target is made if it is missing. */
int mounts_attach(struct mounts *mounts, int tree, const char *at,
    struct problem *reterr) MUST_CHECK;

/* mounts_copy() and mounts_attach() at the same path. */
int mounts_bind(struct mounts *mounts, const char *path, uint64_t attributes,
    struct problem *reterr) MUST_CHECK;

/* A tmpfs of at most bytes. */
int mounts_tmpfs(struct mounts *mounts, const char *at, uint64_t bytes,
    const char *mode, uint64_t attributes, struct problem *reterr) MUST_CHECK;

/* Adds attributes to what is mounted here, and below if recursive. */
int mounts_restrict(int fd, bool recursive, uint64_t attributes) MUST_CHECK;

/*
 * Puts something that nobody may open over target, a file or directory of
 * the new root.
 */
int mounts_hide(struct mounts *mounts, int target) MUST_CHECK;

/* The new root becomes the root, the old one is gone. */
int mounts_pivot(struct mounts *mounts, struct problem *reterr) MUST_CHECK;

#endif
