#include "gateway/launch/view.h"

#include "gateway/launch/mounts.h"
#include "gateway/launch/plan.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_BYTES 16777216

/* Where programs are; the first must be there, the others may. */
static const char *const tools[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32",
	"/lib64", "/libx32", "/opt", "/nix", "/var/lib/dpkg", "/var/lib/apt" };

/* As it is outside: a link stays the same link, a directory is bound. */
static int
show(struct mounts *mounts, const char *path, struct problem *reterr)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t length;

	if (lstat(path, &st) != 0)
		return errno == ENOENT
			   ? STATUS_OK
			   : problem_errno(reterr, "cannot examine %s", path);
	if (!S_ISLNK(st.st_mode))
		return mounts_bind(
		    mounts, path, MOUNTS_BOUND | MOUNT_ATTR_RDONLY, reterr);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return problem_errno(reterr, "cannot read the link %s", path);
	target[length] = '\0';
	return mounts_link(mounts, path, target, reterr);
}

int
view_build(
    struct mounts *mounts, const struct plan *plan, struct problem *reterr)
{
	char home[PATH_MAX];
	int status = STATUS_OK;

	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(tools) / sizeof(tools[0]); i++)
		status = show(mounts, tools[i], reterr);
	if (status != STATUS_OK)
		return status;
	if (snprintf(home, sizeof(home), VIEW_HOME_PARENT "/%s", plan->user) >=
	    (int)sizeof(home))
		return STATUS_TOO_LONG;
	status =
	    mounts_tmpfs(mounts, "/tmp", plan->tmp_bytes, "1777", 0, reterr);
	if (status == STATUS_OK)
		status = mounts_tmpfs(
		    mounts, "/var/tmp", plan->tmp_bytes, "1777", 0, reterr);
	if (status == STATUS_OK)
		status =
		    mounts_tmpfs(mounts, "/run", RUN_BYTES, "755", 0, reterr);
	if (status == STATUS_OK)
		status = mounts_link(mounts, "/var/run", "/run", reterr);
	if (status == STATUS_OK)
		status = mounts_tmpfs(
		    mounts, home, plan->tmp_bytes, "700", 0, reterr);
	return status;
}
