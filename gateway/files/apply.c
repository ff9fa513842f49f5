#include "gateway/files/apply.h"

#include "gateway/files/beneath.h"
#include "gateway/files/box.h"
#include "gateway/files/changes.h"
#include "gateway/files/copy.h"
#include "gateway/files/purge.h"
#include "gateway/files/stack.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TRASH "trash"

struct apply {
	const struct box *box;
	const struct stack *stack;
	const struct apply_wish *wish;
	struct apply_counts *counts;
	int trash; /* a folder of the box, or -1 */
	unsigned removed; /* folders in it, for their names */
};

bool
apply_wants(const struct apply_wish *wish, const struct change *change)
{
	switch (change->class) {
	case CHANGE_SAFE:
		return true;
	case CHANGE_REVIEW:
		return wish->review;
	case CHANGE_CONFLICT:
		return wish->overwrite;
	case CHANGE_DROPPED:
	case CHANGE_CLASS_COUNT:
		return false;
	}
	return false;
}

/* ---- removing ---- */

/* Out of the workspace in one step, and away at leisure. */
static int
remove_folder(struct apply *apply, int parent, const char *name)
{
	char aside[32];

	if (apply->trash >= 0 &&
	    snprintf(aside, sizeof(aside), "%u", apply->removed++) > 0 &&
	    renameat2(parent, name, apply->trash, aside, RENAME_NOREPLACE) ==
		0) {
		/* What is left of it goes with the box. */
		(void)!purge(apply->trash, aside);
		return STATUS_OK;
	}
	return purge(parent, name);
}

static int
remove_entry(struct apply *apply, const struct change *change, int parent,
    const char *name)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? STATUS_OK : STATUS_SYSTEM;
	/* Another kind of thing than what the run removed. */
	if ((st.st_mode & S_IFMT) != change->type) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENOTDIR;
		return STATUS_SYSTEM;
	}
	if (S_ISDIR(st.st_mode))
		return remove_folder(apply, parent, name);
	return unlinkat(parent, name, 0) == 0 ? STATUS_OK : STATUS_SYSTEM;
}

/* ---- putting ---- */

/* As the source's owner has it: for root, who is somebody else. */
static int
make_folder(const struct change *change, int tree, int parent, const char *name)
{
	struct stat st;

	if (mkdirat(parent, name, S_IRWXU) != 0 &&
	    (errno != EEXIST ||
		fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		!S_ISDIR(st.st_mode))) {
		errno = EEXIST;
		return STATUS_SYSTEM;
	}
	if (geteuid() == 0 && change->kind == CHANGE_ADDED) {
		ON_SCOPE_EXIT(fd_done)
		int from = beneath_open(tree, change->path, O_PATH);

		if (from < 0 || fstat(from, &st) != 0 ||
		    fchownat(parent, name, st.st_uid, st.st_gid,
			AT_SYMLINK_NOFOLLOW) != 0)
			return STATUS_SYSTEM;
	}
	/* Its own mode comes last: it may keep us from filling it. */
	return copy_mode(parent, name, change->mode | S_IRWXU);
}

/*
 * One of the run's own no longer hides what lies below it: from now on that
 * is what was taken out of it.
 */
static int
put_folder(const struct apply *apply, const struct change *change, int parent,
    const char *name)
{
	int tree = apply->stack->trees[change->tree];
	int status = make_folder(change, tree, parent, name);

	if (status != STATUS_OK || apply->wish->keep || !change->movable)
		return status;
	return copy_strip(tree, change->path);
}

/* An overlay's own marks mean nothing outside, and must not be left. */
static int
move_entry(const struct change *change, int from, const char *name, int parent)
{
	unsigned flags = change->kind == CHANGE_ADDED ? RENAME_NOREPLACE : 0;

	if (change->type == S_IFREG &&
	    (copy_strip(from, name) != STATUS_OK ||
		copy_mode(from, name, change->mode) != STATUS_OK))
		return STATUS_SYSTEM;
	return renameat2(from, name, parent, name, flags) == 0 ? STATUS_OK
							       : STATUS_SYSTEM;
}

/* Whether what is at the place may be replaced by the change. */
static int
check_place(const struct apply *apply, const struct change *change, int parent,
    const char *name)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? STATUS_OK : STATUS_SYSTEM;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return STATUS_SYSTEM;
	}
	if (change->kind == CHANGE_ADDED ||
	    (!apply->wish->overwrite && change_is_newer(apply->stack, &st))) {
		errno = EEXIST;
		return STATUS_SYSTEM;
	}
	return STATUS_OK;
}

static int
put_entry(const struct apply *apply, const struct change *change, int parent,
    const char *name)
{
	int tree = apply->stack->trees[change->tree];
	ON_SCOPE_EXIT(fd_done) int from = -1;
	const char *same_name;

	if (change->type == S_IFDIR)
		return put_folder(apply, change, parent, name);
	if (check_place(apply, change, parent, name) != STATUS_OK)
		return STATUS_SYSTEM;
	from = beneath_parent(tree, change->path, &same_name);
	if (from < 0)
		return STATUS_SYSTEM;
	if (change->movable && !apply->wish->keep) {
		if (move_entry(change, from, name, parent) == STATUS_OK)
			return STATUS_OK;
		if (errno != EXDEV)
			return STATUS_SYSTEM;
	}
	return copy_replace(from, name, parent, name, change->mode);
}

static int
apply_one(struct apply *apply, const struct change *change)
{
	const char *name;
	ON_SCOPE_EXIT(fd_done)
	int parent = beneath_parent(apply->stack->base, change->path, &name);

	if (parent < 0)
		return change->kind == CHANGE_DELETED && errno == ENOENT
			   ? STATUS_OK
			   : STATUS_SYSTEM;
	if (change->kind == CHANGE_DELETED)
		return remove_entry(apply, change, parent, name);
	return put_entry(apply, change, parent, name);
}

/* ---- all of them ---- */

static const char *
why(int error)
{
	switch (error) {
	case ENOENT:
		return "the folder it lies in is not there";
	case EEXIST:
		return "there is something else in its place now";
	case EISDIR:
		return "there is a folder in its place now";
	case ENOTDIR:
		return "what lies in its way is no folder";
	case ELOOP:
		return "a link lies in its way";
	case EXDEV:
		return "another file system is mounted in its way";
	default:
		return strerrordesc_np(error);
	}
}

static void
hold(struct apply *apply, const struct change *change, const char *reason)
{
	if (apply->wish->on_held != NULL)
		apply->wish->on_held(change, reason, apply->wish->arg);
}

static void
take(struct apply *apply, const struct change *change)
{
	if (change->class == CHANGE_DROPPED) {
		apply->counts->dropped++;
	} else if (!apply_wants(apply->wish, change)) {
		apply->counts->held++;
		hold(apply, change, NULL);
	} else if (apply->wish->dry || apply_one(apply, change) == STATUS_OK) {
		apply->counts->applied++;
	} else {
		apply->counts->failed++;
		hold(apply, change, why(errno));
	}
}

/* A folder before those it lies in. */
static void
finish_folders(const struct apply *apply, const struct changes *changes)
{
	for (size_t i = changes->count; i > 0; i--) {
		const struct change *change = &changes->list[i - 1];
		ON_SCOPE_EXIT(fd_done) int parent = -1;
		const char *name;

		if (change->type != S_IFDIR || change->kind == CHANGE_DELETED ||
		    (change->mode & S_IRWXU) == S_IRWXU ||
		    !apply_wants(apply->wish, change))
			continue;
		parent =
		    beneath_parent(apply->stack->base, change->path, &name);
		if (parent >= 0)
			(void)!copy_mode(parent, name, change->mode);
		/* We opened it to look into it. */
		if (change->tree == 0)
			(void)!copy_mode(
			    apply->stack->trees[0], change->path, change->mode);
	}
}

int
apply_changes(const struct box *box, const struct stack *stack,
    const struct changes *changes, const struct apply_wish *wish,
    struct apply_counts *ret)
{
	struct apply_counts counts = { 0 };
	struct apply apply = { .box = box,
		.stack = stack,
		.wish = wish,
		.counts = &counts,
		.trash = -1 };

	if (!wish->dry) {
		if (mkdirat(box->folder, TRASH, S_IRWXU) != 0 &&
		    errno != EEXIST)
			return STATUS_SYSTEM;
		apply.trash =
		    beneath_open(box->folder, TRASH, O_PATH | O_DIRECTORY);
	}
	for (size_t i = 0; i < changes->count; i++)
		take(&apply, &changes->list[i]);
	if (!wish->dry)
		finish_folders(&apply, changes);
	fd_done(&apply.trash);
	*ret = counts;
	return STATUS_OK;
}
