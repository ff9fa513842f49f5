#include "gateway/launch/probe_host.h"

#include "gateway/launch/cgroup.h"
#include "gateway/launch/mounts.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/userns.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_DISK_WRITE 1048576
#define PROBE_DISK_LEAST UINT64_C(1073741824) /* an npm install's worth */
#define PROBE_CLOCK_LEAST_US INT64_C(1767225600000000) /* 2026-01-01 */

int
probe_idmap(const struct plan *plan, struct problem *reterr)
{
	struct userns_ids ids = userns_ids();
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	ON_SCOPE_EXIT(fd_done) int userns = -1;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	int status;

	(void)plan;
	/* Only root needs it: everybody else is who owns the workspace. */
	if (!ids.switched)
		return STATUS_OK;
	status = mounts_copy(AT_FDCWD, "/", 0, &tree, reterr);
	if (status == STATUS_OK)
		status = userns_for_owner(0, 0, &ids, &userns, reterr);
	if (status != STATUS_OK)
		return status;
	attr.userns_fd = (unsigned)userns;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		return STATUS_OK;
	(void)problem_errno(reterr, "cannot map owners of files");
	return problem_cure(reterr,
	    "start exeat as an ordinary user, or put the workspace on ext4, "
	    "xfs or btrfs");
}

int
probe_landlock(const struct plan *plan, struct problem *reterr)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	(void)plan;
	if (version >= 1) {
		(void)problem_set(reterr, "version %ld", version);
		return STATUS_OK;
	}
	(void)problem_errno(reterr, "there is no Landlock");
	return problem_cure(reterr,
	    "start the kernel with lsm=landlock,... to confine Exeat's own "
	    "processes further");
}

/* Which of them we may give; the rest has other means or none. */
int
probe_groups(const struct plan *plan, struct problem *reterr)
{
	static const enum cgroup_controller wanted[] = { CGROUP_MEMORY,
		CGROUP_CPU, CGROUP_FREEZER };
	struct cgroup cgroup;
	bool all = true, two;

	cgroup_make(plan->run, &cgroup);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		all = all && cgroup_has(&cgroup, wanted[i]);
	two = cgroup.v2[CGROUP_MEMORY];
	cgroup_done(&cgroup);
	if (all) {
		(void)problem_set(reterr, "version %d", two ? 2 : 1);
		return STATUS_OK;
	}
	(void)problem_set(reterr,
	    "no control groups are ours to give: memory is kept by looking, "
	    "processors only as whole ones, and a pause by SIGSTOP");
	return problem_cure(reterr,
	    "systemd-run --user --scope -p Delegate=yes exeat run ..., or as "
	    "root");
}

/* By descriptor, so that no number can mean another process. */
int
probe_pidfd(const struct plan *plan, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	siginfo_t info;
	pid_t child = fork();

	(void)plan;
	if (child < 0)
		return problem_errno(reterr, "cannot start a process");
	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	if (fd < 0 ||
	    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) != 0) {
		(void)problem_errno(reterr, "processes have no descriptors");
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
		return problem_cure(reterr, "use Linux 5.12 or newer");
	}
	if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED) != 0)
		return problem_errno(
		    reterr, "the end of a process cannot be waited for");
	return STATUS_OK;
}

/* Where runs keep what they write: the working directory. */
int
probe_disk(const struct plan *plan, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
	struct statvfs st;
	uint64_t free_bytes;

	(void)plan;
	if (fd < 0 || posix_fallocate(fd, 0, PROBE_DISK_WRITE) != 0)
		return problem_errno(
		    reterr, "nothing can be written where runs keep files");
	if (fstatvfs(fd, &st) != 0)
		return problem_errno(reterr, "cannot ask how much is free");
	free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
	(void)problem_set(reterr, "%llu MiB are free where runs keep files",
	    (unsigned long long)(free_bytes >> 20));
	if (free_bytes >= PROBE_DISK_LEAST)
		return STATUS_OK;
	return problem_cure(reterr,
	    "exeat diff tells which runs hold files, exeat discard throws "
	    "them away; or set XDG_STATE_HOME to a larger place");
}

/* Certificates, tokens and rules with "valid" are judged by it. */
int
probe_clock(const struct plan *plan, struct problem *reterr)
{
	(void)plan;
	if (clock_wall_us() >= PROBE_CLOCK_LEAST_US)
		return STATUS_OK;
	(void)problem_set(
	    reterr, "the clock stands before this program was written");
	return problem_cure(reterr, "set it, as with timedatectl set-ntp true");
}
