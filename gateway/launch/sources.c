#include "gateway/launch/sources.h"

#include "gateway/launch/mounts.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/userns.h"
#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where one of these lies, a person keeps more than a project. */
static const char *const telltales[] = { ".ssh", ".gnupg", ".aws/credentials",
	".kube/config", ".config/gcloud", ".docker/config.json" };

static int
open_source(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static int
check_kind(const struct stat *st, const char *path, struct problem *reterr)
{
	if (S_ISDIR(st->st_mode) || S_ISREG(st->st_mode))
		return STATUS_OK;
	(void)problem_set(reterr, "%s is %s", path,
	    S_ISLNK(st->st_mode)    ? "a symbolic link"
	    : S_ISSOCK(st->st_mode) ? "a socket"
				    : "no directory and no plain file");
	return problem_cure(
	    reterr, "name a directory or a plain file, by its own path");
}

static int
check_contents(int fd, const char *path, struct problem *reterr)
{
	struct statfs fs;

	if (strcmp(path, "/") == 0) {
		(void)problem_set(
		    reterr, "the whole machine cannot be a mount");
		return problem_cure(reterr, "name a directory below it");
	}
	/* Every process in it has a link to its root and its variables. */
	if (fstatfs(fd, &fs) != 0 || fs.f_type == PROC_SUPER_MAGIC) {
		(void)problem_set(reterr, "%s is a part of /proc", path);
		return problem_cure(
		    reterr, "the sandbox has a /proc of its own");
	}
	for (size_t i = 0; i < sizeof(telltales) / sizeof(telltales[0]); i++)
		if (faccessat(fd, telltales[i], F_OK, AT_SYMLINK_NOFOLLOW) ==
		    0) {
			(void)problem_set(reterr, "%s holds credentials (%s)",
			    path, telltales[i]);
			return problem_cure(reterr,
			    "name a directory below it that holds none");
		}
	return STATUS_OK;
}

static int
open_one(const struct plan_mount *mount, struct source *source,
    struct problem *reterr)
{
	struct stat st;
	int status;

	source->mount = mount;
	source->fd = open_source(mount->source);
	if (source->fd < 0) {
		(void)problem_errno(reterr, "cannot open %s", mount->source);
		return problem_cure(
		    reterr, "it must exist and be yours to read");
	}
	if (fstat(source->fd, &st) != 0)
		return problem_errno(
		    reterr, "cannot examine %s", mount->source);
	source->device = st.st_dev;
	source->inode = st.st_ino;
	source->uid = st.st_uid;
	source->gid = st.st_gid;
	source->directory = S_ISDIR(st.st_mode);
	status = check_kind(&st, mount->source, reterr);
	/* A folder of an overlay is ours, and at no place of the view. */
	if (status != STATUS_OK || !S_ISDIR(st.st_mode) || mount->at == NULL)
		return status;
	return check_contents(source->fd, mount->source, reterr);
}

/*
 * The command gets these three as they are; through a directory it would
 * reach every other place of the machine, past the view.
 */
static int
check_inherited(struct problem *reterr)
{
	static const char *const names[] = { "input", "output", "error" };
	struct stat st;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
			continue;
		(void)problem_set(
		    reterr, "the standard %s is a directory", names[fd]);
		return problem_cure(reterr,
		    "redirect it from or to a file, a pipe or /dev/null");
	}
	return STATUS_OK;
}

int
sources_open(
    const struct plan *plan, struct sources *ret, struct problem *reterr)
{
	struct sources sources = { .count =
				       plan->mount_count + plan->folder_count,
		.mount_count = plan->mount_count };
	int status = check_inherited(reterr);

	if (status != STATUS_OK)
		return status;
	sources.list = calloc(sources.count + 1, sizeof(*sources.list));
	if (sources.list == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < sources.count; i++)
		sources.list[i] = (struct source){ .fd = -1, .tree = -1 };
	for (size_t i = 0; status == STATUS_OK && i < sources.count; i++)
		status = open_one(i < plan->mount_count
				      ? &plan->mounts[i]
				      : &plan->folders[i - plan->mount_count],
		    &sources.list[i], reterr);
	if (status != STATUS_OK) {
		sources_done(&sources);
		return status;
	}
	*ret = sources;
	return STATUS_OK;
}

void
sources_done(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		fd_done(&sources->list[i].fd);
		fd_done(&sources->list[i].tree);
	}
	free(sources->list);
	*sources = (struct sources){ 0 };
}

static uint64_t
attributes_of(const struct source *source)
{
	return MOUNTS_BOUND | (source->mount->writable ? 0 : MOUNT_ATTR_RDONLY);
}

/* The last owner that was mapped: most sources have the same. */
struct owner {
	uid_t uid;
	gid_t gid;
	int userns; /* -1: none yet */
};

static int
map_owner(struct owner *owner, const struct source *source,
    const struct userns_ids *ids, struct problem *reterr)
{
	if (owner->userns >= 0 && owner->uid == source->uid &&
	    owner->gid == source->gid)
		return STATUS_OK;
	fd_done(&owner->userns);
	owner->uid = source->uid;
	owner->gid = source->gid;
	return userns_for_owner(
	    source->uid, source->gid, ids, &owner->userns, reterr);
}

static int
map_one(struct source *source, struct owner *owner,
    const struct userns_ids *ids, struct problem *reterr)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	int status = mounts_copy(
	    source->fd, "", attributes_of(source), &source->tree, reterr);

	if (status == STATUS_OK)
		status = map_owner(owner, source, ids, reterr);
	if (status != STATUS_OK)
		return status;
	attr.userns_fd = (unsigned)owner->userns;
	if (mount_setattr(source->tree, "",
		(unsigned)(AT_EMPTY_PATH | AT_RECURSIVE), &attr,
		sizeof(attr)) != 0)
		return problem_errno(reterr, "cannot map the owner of %s",
		    source->mount->source);
	return STATUS_OK;
}

int
sources_map(struct sources *sources, const struct plan *plan,
    struct userns_ids *ids, struct problem *reterr)
{
	struct owner owner = { .userns = -1 };
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < sources->count; i++)
		status = map_one(&sources->list[i], &owner, ids, reterr);
	fd_done(&owner.userns);
	if (status == STATUS_OK)
		return STATUS_OK;
	for (size_t i = 0; i < sources->count; i++)
		fd_done(&sources->list[i].tree);
	/* The next best: the sandbox is the owner, if that is not root. */
	if (plan->has_workspace && sources->list[0].uid != 0 &&
	    sources->list[0].gid != 0) {
		ids->uid = sources->list[0].uid;
		ids->gid = sources->list[0].gid;
		return STATUS_OK;
	}
	return problem_cure(reterr,
	    "give the workspace to an ordinary user with chown, or start "
	    "exeat as one");
}

int
sources_reopen(const struct source *source, int *ret_fd, struct problem *reterr)
{
	const char *path = source->mount->source;
	ON_SCOPE_EXIT(fd_done) int fd = open_source(path);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot open %s again", path);
	if (st.st_dev != source->device || st.st_ino != source->inode) {
		(void)problem_set(reterr,
		    "%s was replaced while the sandbox was built", path);
		return problem_cure(reterr, "start again");
	}
	*ret_fd = steal_fd(&fd);
	return STATUS_OK;
}

int
sources_mount(
    struct source *source, struct mounts *mounts, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	int status = STATUS_OK;

	if (source->tree < 0)
		status = sources_reopen(source, &fd, reterr);
	if (status == STATUS_OK && source->tree < 0)
		status = mounts_copy(
		    fd, "", attributes_of(source), &source->tree, reterr);
	if (status != STATUS_OK)
		return status;
	return mounts_attach(mounts, source->tree, source->mount->at, reterr);
}
