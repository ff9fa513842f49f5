#include "gateway/launch/overlay.h"

#include "gateway/files/glob.h"
#include "gateway/files/sensitive.h"
#include "gateway/launch/masks.h"
#include "gateway/launch/mounts.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/sources.h"
#include "gateway/proc/fd.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * Where root's trees hang while the overlay is made from them.  They come
 * from a namespace with more rights and cannot be taken down one by one, but
 * with the file system they hang in.
 */
#define STAGING_NAME ".layers"
#define STAGING "/" STAGING_NAME
#define STAGING_BYTES 65536

struct overlay {
	const struct masks_listener *listener;
	struct sources *sources;
	struct mounts *mounts;
	int below[LIMIT_STACK + 2]; /* workspace, folder, layers */
	size_t count;
	int upper, work, hidden;
};

#define WORKSPACE 0
#define FOLDER 1
#define FIRST_LAYER 2

/* The nth of below is this source. */
static struct source *
source_of(const struct overlay *overlay, size_t n)
{
	struct sources *sources = overlay->sources;

	return n == WORKSPACE ? &sources->list[0]
			      : &sources->list[sources->mount_count + n - 1];
}

static int
open_beneath(int directory, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/* ---- whiteouts ---- */

/* As the directory below: the overlay shows the upper one's mode and times. */
static int
copy_directory(int from, int to, const char *name)
{
	struct stat st;

	if (mkdirat(to, name, S_IRWXU) != 0)
		return errno == EEXIST ? STATUS_OK : STATUS_SYSTEM;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    fchmodat(to, name, st.st_mode & 01777, 0) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

/* Walks down to the directory of path's last part in both; gives upper's. */
static int
make_parents(const struct overlay *overlay, const char *path, int *ret_fd,
    const char **ret_name)
{
	ON_SCOPE_EXIT(fd_done)
	int to = fcntl(overlay->upper, F_DUPFD_CLOEXEC, 0);
	ON_SCOPE_EXIT(fd_done)
	int from = fcntl(overlay->below[WORKSPACE], F_DUPFD_CLOEXEC, 0);

	for (;;) {
		char name[NAME_MAX + 1];
		size_t length = strcspn(path, "/");
		int below;

		if (path[length] == '\0') {
			*ret_fd = steal_fd(&to);
			*ret_name = path;
			return STATUS_OK;
		}
		if (length > NAME_MAX)
			return STATUS_TOO_LONG;
		memcpy(name, path, length);
		name[length] = '\0';
		path += length + 1;
		if (copy_directory(from, to, name) != STATUS_OK)
			return STATUS_SYSTEM;
		below = open_beneath(to, name, O_PATH | O_DIRECTORY);
		fd_done(&to);
		to = below;
		below = open_beneath(from, name, O_PATH | O_DIRECTORY);
		fd_done(&from);
		from = below;
		if (to < 0 || from < 0)
			return STATUS_SYSTEM;
	}
}

/* Whether a layer has anything at path, or in the place of what leads there. */
static bool
is_in_a_layer(const struct overlay *overlay, const char *path)
{
	for (size_t i = FIRST_LAYER; i < overlay->count; i++) {
		ON_SCOPE_EXIT(fd_done)
		int fd =
		    open_beneath(overlay->below[i], path, O_PATH | O_NOFOLLOW);

		if (fd >= 0 || errno != ENOENT)
			return true;
	}
	return false;
}

/* Notes it first: an unnoted whiteout would read as a deletion. */
static int
white_out(const struct overlay *overlay, const char *path, bool *ret_new)
{
	ON_SCOPE_EXIT(fd_done) int parent = -1;
	size_t length = strlen(path) + 1;
	const char *name;
	int status;

	*ret_new = false;
	/* What an earlier run made there is its own, and hides the rest. */
	if (is_in_a_layer(overlay, path))
		return STATUS_OK;
	status = make_parents(overlay, path, &parent, &name);
	if (status != STATUS_OK)
		return status;
	if (write(overlay->hidden, path, length) != (ssize_t)length)
		return STATUS_SYSTEM;
	if (mknodat(parent, name, S_IFCHR, makedev(0, 0)) == 0)
		*ret_new = true;
	else if (errno != EEXIST)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
hide_entry(const struct search_entry *entry, void *arg, struct problem *reterr)
{
	const struct overlay *overlay = arg;
	bool made;

	if (white_out(overlay, entry->path, &made) != STATUS_OK)
		return problem_errno(reterr, "cannot hide %s", entry->path);
	if (made)
		overlay->listener->on_hidden(
		    entry->path, overlay->listener->arg);
	return STATUS_OK;
}

static bool
is_shown(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->show.count; i++)
		if (glob_matches(plan->show.list[i], name))
			return true;
	return false;
}

/* Names that the host may give a secret later. */
static int
hide_names(const struct overlay *overlay, const struct plan *plan,
    struct problem *reterr)
{
	bool made;

	for (const char *const *name = sensitive_exact; *name != NULL; name++)
		if (!is_shown(plan, *name) &&
		    white_out(overlay, *name, &made) != STATUS_OK)
			return problem_errno(reterr, "cannot hide %s", *name);
	return STATUS_OK;
}

/* ---- the overlay itself ---- */

/*
 * A descriptor of the nth folder in the mounts of the sandbox.  Root's are
 * trees that were made outside; an overlay takes none that hang nowhere.
 */
static int
open_below(struct overlay *overlay, size_t n, struct problem *reterr)
{
	struct source *source = source_of(overlay, n);
	int status;

	if (source->tree < 0)
		return sources_reopen(source, &overlay->below[n], reterr);
	status = mounts_attach(
	    overlay->mounts, source->tree, STAGING "/tree", reterr);
	if (status != STATUS_OK)
		return status;
	overlay->below[n] = fcntl(source->tree, F_DUPFD_CLOEXEC, 0);
	return overlay->below[n] >= 0
		   ? STATUS_OK
		   : problem_errno(reterr, "cannot keep a descriptor");
}

static int
check_upper(
    const struct overlay *overlay, const char *folder, struct problem *reterr)
{
	char path[64];
	struct statfs fs;

	if (fstatfs(overlay->upper, &fs) != 0)
		return problem_errno(reterr, "cannot examine %s", folder);
	/* Of an open file that is only a path, by the name it has here. */
	if (snprintf(path, sizeof(path), "/proc/self/fd/%d", overlay->upper) <
	    0)
		return STATUS_TOO_LONG;
	if (fs.f_type != OVERLAYFS_SUPER_MAGIC &&
	    setxattr(path, "user.overlay.exeat", "y", 1, 0) == 0 &&
	    removexattr(path, "user.overlay.exeat") == 0)
		return STATUS_OK;
	(void)problem_set(reterr,
	    "what the run writes cannot be kept in %s: its file system %s "
	    "(overlay.xattr)",
	    folder,
	    fs.f_type == OVERLAYFS_SUPER_MAGIC
		? "is an overlay itself"
		: "keeps no extended attributes");
	return problem_cure(reterr,
	    "set XDG_STATE_HOME to a folder on ext4, xfs, btrfs or a recent "
	    "tmpfs, or let writes go through with --files direct");
}

static int
open_folder(struct overlay *overlay, struct problem *reterr)
{
	const char *path = source_of(overlay, FOLDER)->mount->source;
	int folder = overlay->below[FOLDER];

	overlay->upper = open_beneath(folder, "upper", O_PATH | O_DIRECTORY);
	overlay->work = open_beneath(folder, "work", O_PATH | O_DIRECTORY);
	overlay->hidden = open_beneath(folder, "hidden", O_WRONLY | O_APPEND);
	if (overlay->upper < 0 || overlay->work < 0 || overlay->hidden < 0)
		return problem_errno(reterr, "cannot open what is in %s", path);
	return check_upper(overlay, path, reterr);
}

/*
 * The folders by their descriptors' numbers, seen from the directory of
 * descriptors: short enough for one option, and no path of the machine
 * stands in the sandbox's list of mounts.
 */
static int
make_options(const struct overlay *overlay, char lower[256], char upper[16],
    char work[16])
{
	struct cursor_writer out = cursor_writer_of(lower, 255);

	for (size_t i = FIRST_LAYER; i < overlay->count; i++) {
		cursor_put_decimal(&out, (uint64_t)overlay->below[i]);
		cursor_put_text(&out, ":");
	}
	cursor_put_decimal(&out, (uint64_t)overlay->below[WORKSPACE]);
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	lower[out.used] = '\0';
	return snprintf(upper, 16, "%d", overlay->upper) > 0 &&
		       snprintf(work, 16, "%d", overlay->work) > 0
		   ? STATUS_OK
		   : STATUS_TOO_LONG;
}

static int
make_tree(const struct overlay *overlay, int *ret_tree, struct problem *reterr)
{
	char lower[256], upper[16], work[16];
	const struct mounts_option options[] = { { "lowerdir", lower },
		{ "upperdir", upper }, { "workdir", work },
		{ "userxattr", NULL }, { NULL, NULL } };
	int status = make_options(overlay, lower, upper, work);

	if (status != STATUS_OK)
		return problem_set(reterr, "the overlay has too many layers");
	if (chdir("/proc/self/fd") != 0)
		return problem_errno(reterr, "cannot see our descriptors");
	status = mounts_filesystem(
	    "overlay", options, MOUNTS_BOUND, ret_tree, reterr);
	/* Nothing of the machine's is a place to stay. */
	if (chdir("/") != 0)
		return problem_errno(reterr, "cannot go to /");
	if (status != STATUS_OK)
		return problem_cure(reterr,
		    "with a file system mounted inside the workspace, or with "
		    "one that overlays do not take, let writes go through "
		    "with --files direct");
	return STATUS_OK;
}

/* Only root has trees. */
static int
mount_staging(struct overlay *overlay, struct problem *reterr)
{
	if (source_of(overlay, WORKSPACE)->tree < 0)
		return STATUS_OK;
	return mounts_tmpfs(
	    overlay->mounts, STAGING, STAGING_BYTES, "700", 0, reterr);
}

/* They have served: what the overlay holds of them is its own. */
static int
unmount_staging(struct overlay *overlay, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int staging = -1;
	char path[64];

	if (source_of(overlay, WORKSPACE)->tree < 0)
		return STATUS_OK;
	staging = open_beneath(
	    overlay->mounts->root, STAGING_NAME, O_PATH | O_DIRECTORY);
	if (staging < 0 ||
	    snprintf(path, sizeof(path), "/proc/self/fd/%d", staging) < 0 ||
	    umount2(path, MNT_DETACH) != 0 ||
	    unlinkat(overlay->mounts->root, STAGING_NAME, AT_REMOVEDIR) != 0)
		return problem_errno(reterr, "cannot take the layers down");
	return STATUS_OK;
}

static int
build(struct overlay *overlay, const struct plan *plan, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	const struct masks_hider hider = { hide_entry, overlay };
	int status = mount_staging(overlay, reterr);

	for (size_t i = 0; status == STATUS_OK && i < overlay->count; i++)
		status = open_below(overlay, i, reterr);
	if (status == STATUS_OK)
		status = open_folder(overlay, reterr);
	if (status == STATUS_OK)
		status = masks_find(overlay->below[WORKSPACE], plan, true,
		    &hider, overlay->listener, reterr);
	if (status == STATUS_OK)
		status = hide_names(overlay, plan, reterr);
	if (status == STATUS_OK)
		status = make_tree(overlay, &tree, reterr);
	if (status == STATUS_OK)
		status = unmount_staging(overlay, reterr);
	if (status != STATUS_OK)
		return status;
	return mounts_attach(
	    overlay->mounts, tree, plan->mounts[WORKSPACE].at, reterr);
}

int
overlay_mount(struct sources *sources, const struct plan *plan,
    struct mounts *mounts, const struct masks_listener *listener,
    struct problem *reterr)
{
	struct overlay overlay = { .listener = listener,
		.sources = sources,
		.mounts = mounts,
		.count = plan->folder_count + 1,
		.upper = -1,
		.work = -1,
		.hidden = -1 };
	int status;

	for (size_t i = 0; i < overlay.count; i++)
		overlay.below[i] = -1;
	status = build(&overlay, plan, reterr);
	for (size_t i = 0; i < overlay.count; i++)
		fd_done(&overlay.below[i]);
	fd_done(&overlay.upper);
	fd_done(&overlay.work);
	fd_done(&overlay.hidden);
	return status;
}
