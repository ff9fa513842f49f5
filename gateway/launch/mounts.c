#include "gateway/launch/mounts.h"

#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN_FILE ".hidden-file"
#define HIDDEN_DIRECTORY ".hidden-directory"

/* The copies of /etc, and directories and files that are mounted on. */
#define ROOT_BYTES "33554432"

static int
open_beneath(int directory, const char *name, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

int
mounts_restrict(int fd, bool recursive, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };
	unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);

	if (mount_setattr(fd, "", flags, &attr, sizeof(attr)) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

int
mounts_filesystem(const char *type, const struct mounts_option *options,
    uint64_t attributes, int *ret_tree, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int context = fsopen(type, FSOPEN_CLOEXEC);
	int tree;

	if (context < 0)
		return problem_errno(reterr, "cannot use %s", type);
	for (; options->name != NULL; options++)
		if (fsconfig(context,
			options->value == NULL ? FSCONFIG_SET_FLAG
					       : FSCONFIG_SET_STRING,
			options->name, options->value, 0) != 0)
			return problem_errno(
			    reterr, "cannot set %s of %s", options->name, type);
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return problem_errno(reterr, "cannot make a %s", type);
	tree = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
	if (tree < 0)
		return problem_errno(reterr, "cannot mount a %s", type);
	*ret_tree = tree;
	return STATUS_OK;
}

int
mounts_copy(int fd, const char *source, uint64_t attributes, int *ret_tree,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int tree = open_tree(fd, source,
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
		(source[0] == '\0' ? AT_EMPTY_PATH : 0U));

	if (tree < 0)
		return problem_errno(reterr, "cannot copy the mount of %s",
		    source[0] == '\0' ? "a source" : source);
	if (mounts_restrict(tree, true, attributes) != STATUS_OK)
		return problem_errno(reterr, "cannot restrict the mount of %s",
		    source[0] == '\0' ? "a source" : source);
	*ret_tree = steal_fd(&tree);
	return STATUS_OK;
}

/* Most are there: a try to make one that is costs more than to open it. */
static int
step_into(int directory, const char *name, mode_t mode)
{
	int fd = open_beneath(directory, name, O_DIRECTORY);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(directory, name, mode) != 0 && errno != EEXIST)
		return -1;
	return open_beneath(directory, name, O_DIRECTORY);
}

/* Walks to the directory that holds the last part of at; makes the others. */
static int
walk(struct mounts *mounts, const char *at, int *ret_parent,
    char ret_last[NAME_MAX + 1])
{
	ON_SCOPE_EXIT(fd_done)
	int directory = fcntl(mounts->root, F_DUPFD_CLOEXEC, 0);

	for (;;) {
		char name[NAME_MAX + 1];
		size_t length;
		int next;

		at += strspn(at, "/");
		length = strcspn(at, "/");
		if (length == 0 || length > NAME_MAX)
			return STATUS_TOO_LONG;
		memcpy(name, at, length);
		name[length] = '\0';
		at += length;
		if (at[strspn(at, "/")] == '\0') {
			memcpy(ret_last, name, length + 1);
			*ret_parent = steal_fd(&directory);
			return STATUS_OK;
		}
		next = step_into(directory, name, 0755);
		if (next < 0)
			return STATUS_SYSTEM;
		(void)close(directory);
		directory = next;
	}
}

static int
cannot_make(const char *at, struct problem *reterr)
{
	(void)problem_errno(reterr, "cannot make %s in the sandbox", at);
	return problem_cure(reterr,
	    "a target must not lie in a read-only part of the view nor behind "
	    "a link");
}

int
mounts_directory(struct mounts *mounts, const char *at, mode_t mode,
    int *ret_fd, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int parent = -1;
	char name[NAME_MAX + 1];
	int fd;

	if (walk(mounts, at, &parent, name) != STATUS_OK)
		return cannot_make(at, reterr);
	fd = step_into(parent, name, mode);
	if (fd < 0)
		return cannot_make(at, reterr);
	*ret_fd = fd;
	return STATUS_OK;
}

int
mounts_make(
    struct mounts *mounts, const char *at, mode_t mode, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = -1;

	return mounts_directory(mounts, at, mode, &fd, reterr);
}

/* A file to mount on; one that is there is as good. */
static int
target_file(
    struct mounts *mounts, const char *at, int *ret_fd, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int parent = -1;
	char name[NAME_MAX + 1];
	int fd;

	if (walk(mounts, at, &parent, name) != STATUS_OK)
		return cannot_make(at, reterr);
	fd = openat(parent, name,
	    O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 && errno != EEXIST)
		return cannot_make(at, reterr);
	if (fd >= 0)
		(void)close(fd);
	fd = open_beneath(parent, name, 0);
	if (fd < 0)
		return cannot_make(at, reterr);
	*ret_fd = fd;
	return STATUS_OK;
}

int
mounts_file(struct mounts *mounts, const char *at, const void *bytes,
    size_t length, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int parent = -1;
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	char name[NAME_MAX + 1];

	if (walk(mounts, at, &parent, name) != STATUS_OK)
		return cannot_make(at, reterr);
	fd = openat(parent, name,
	    O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		return cannot_make(at, reterr);
	return STATUS_OK;
}

int
mounts_link(struct mounts *mounts, const char *at, const char *target,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int parent = -1;
	char name[NAME_MAX + 1];

	if (walk(mounts, at, &parent, name) != STATUS_OK ||
	    symlinkat(target, parent, name) != 0)
		return cannot_make(at, reterr);
	return STATUS_OK;
}

int
mounts_attach(
    struct mounts *mounts, int tree, const char *at, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int target = -1;
	struct stat st;
	int status;

	if (fstat(tree, &st) != 0)
		return problem_errno(reterr, "cannot examine a mount");
	status = S_ISDIR(st.st_mode)
		     ? mounts_directory(mounts, at, 0755, &target, reterr)
		     : target_file(mounts, at, &target, reterr);
	if (status != STATUS_OK)
		return status;
	if (move_mount(tree, "", target, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return problem_errno(reterr, "cannot mount %s", at);
	return STATUS_OK;
}

int
mounts_bind(struct mounts *mounts, const char *path, uint64_t attributes,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	int status = mounts_copy(AT_FDCWD, path, attributes, &tree, reterr);

	if (status != STATUS_OK)
		return status;
	return mounts_attach(mounts, tree, path, reterr);
}

int
mounts_tmpfs(struct mounts *mounts, const char *at, uint64_t bytes,
    const char *mode, uint64_t attributes, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	char size[24];
	const struct mounts_option options[] = { { "size", size },
		{ "mode", mode }, { NULL, NULL } };
	int status;

	if (snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes) < 0)
		return STATUS_TOO_LONG;
	status = mounts_filesystem(
	    "tmpfs", options, attributes | MOUNTS_BOUND, &tree, reterr);
	if (status != STATUS_OK)
		return status;
	return mounts_attach(mounts, tree, at, reterr);
}

int
mounts_hide(struct mounts *mounts, int target)
{
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	struct stat st;
	int status;

	if (fstat(target, &st) != 0)
		return STATUS_SYSTEM;
	status = mounts_copy(S_ISDIR(st.st_mode) ? mounts->hidden_directory
						 : mounts->hidden_file,
	    "", MOUNTS_BOUND | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, &tree,
	    NULL);
	if (status != STATUS_OK)
		return STATUS_SYSTEM;
	if (move_mount(tree, "", target, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

/* Made first and unlinked last: what is mounted lives on. */
static int
make_hidden(struct mounts *mounts)
{
	ON_SCOPE_EXIT(fd_done)
	int file = openat(mounts->root, HIDDEN_FILE,
	    O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0);

	if (file < 0 || mkdirat(mounts->root, HIDDEN_DIRECTORY, 0) != 0)
		return STATUS_SYSTEM;
	mounts->hidden_file = open_beneath(mounts->root, HIDDEN_FILE, 0);
	mounts->hidden_directory =
	    open_beneath(mounts->root, HIDDEN_DIRECTORY, O_DIRECTORY);
	if (mounts->hidden_file < 0 || mounts->hidden_directory < 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

int
mounts_begin(struct mounts *ret, struct problem *reterr)
{
	static const struct mounts_option options[] = { { "mode", "755" },
		{ "size", ROOT_BYTES }, { NULL, NULL } };
	struct mounts mounts = { -1, -1, -1 };
	int status;

	/* Private and not slave: no later mount of the host appears here. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		(void)problem_errno(reterr, "cannot make the mounts private");
		return problem_cure(reterr,
		    "in a container, its AppArmor profile must allow mount");
	}
	status = mounts_filesystem(
	    "tmpfs", options, MOUNTS_BOUND, &mounts.root, reterr);
	if (status != STATUS_OK)
		return status;
	/* On top of "/", which is the one directory that is always there. */
	if (move_mount(
		mounts.root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0 ||
	    make_hidden(&mounts) != STATUS_OK) {
		status = problem_errno(reterr, "cannot mount the new root");
		mounts_done(&mounts);
		return status;
	}
	*ret = mounts;
	return STATUS_OK;
}

void
mounts_done(struct mounts *mounts)
{
	fd_done(&mounts->root);
	fd_done(&mounts->hidden_file);
	fd_done(&mounts->hidden_directory);
}

int
mounts_pivot(struct mounts *mounts, struct problem *reterr)
{
	if (unlinkat(mounts->root, HIDDEN_FILE, 0) != 0 ||
	    unlinkat(mounts->root, HIDDEN_DIRECTORY, AT_REMOVEDIR) != 0)
		return problem_errno(reterr, "cannot tidy the new root");
	if (fchdir(mounts->root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
		return problem_errno(reterr, "cannot change the root");
	/* Both roots are stacked on "." now, the old one on top. */
	if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return problem_errno(reterr, "cannot leave the old root");
	if (mounts_restrict(mounts->root, false, MOUNT_ATTR_RDONLY) !=
	    STATUS_OK)
		return problem_errno(reterr, "cannot make the root read-only");
	return STATUS_OK;
}
