#include "gateway/launch/userns.h"

#include "gateway/proc/fd.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The first of the ids that systemd's list of id ranges calls unused; no
 * process id is as large as the range, so every run has its own.
 */
#define USERNS_FIRST_HOST_ID 1879048192U

/*
 * Whether our id 0 is somebody else outside: the root of a container that an
 * ordinary user made is that user, and has no other ids to give away.
 */
static bool
root_is_mapped(void)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	uint64_t inside = 0, outside = 0;
	struct cursor in;
	char text[128];
	ssize_t length;

	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text));
	if (length <= 0)
		return false;
	in = cursor_of(text, (size_t)length);
	while (cursor_literal(&in, " "))
		;
	if (!cursor_decimal(&in, UINT32_MAX, &inside))
		return false;
	while (cursor_literal(&in, " "))
		;
	if (!cursor_decimal(&in, UINT32_MAX, &outside))
		return false;
	return inside == 0 && outside != 0;
}

struct userns_ids
userns_ids(void)
{
	struct userns_ids ids = { .uid = geteuid(), .gid = getegid() };

	if (ids.uid == 0 && !root_is_mapped()) {
		ids.uid = USERNS_FIRST_HOST_ID + (uid_t)getpid();
		ids.gid = ids.uid;
		ids.switched = true;
	}
	return ids;
}

/* The number in a file of /proc/sys; -1 where there is no such file. */
static long
knob(const char *path)
{
	ON_SCOPE_EXIT(fd_done) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[24];
	struct cursor in;
	uint64_t value;
	ssize_t length;

	if (fd < 0)
		return -1;
	length = read(fd, text, sizeof(text));
	if (length <= 0)
		return -1;
	in = cursor_of(text, (size_t)length);
	if (!cursor_decimal(&in, INT32_MAX, &value))
		return -1;
	return (long)value;
}

int
userns_cure(struct problem *reterr)
{
	if (knob("/proc/sys/user/max_user_namespaces") == 0)
		return problem_cure(reterr,
		    "user namespaces are switched off: set "
		    "user.max_user_namespaces above 0 with sysctl "
		    "(userns.disabled)");
	if (knob("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return problem_cure(reterr,
		    "set kernel.unprivileged_userns_clone to 1 with sysctl "
		    "(userns.disabled)");
	if (knob("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") > 0)
		return problem_cure(reterr,
		    "AppArmor restricts user namespaces here: install the "
		    "profile deploy/apparmor/exeat for exeat-launch "
		    "(userns.apparmor)");
	return problem_cure(reterr,
	    "in a container, allow clone with namespaces and mount in its "
	    "seccomp and AppArmor profiles, or run exeat outside of it "
	    "(userns.disabled)");
}

int
userns_clone(struct userns_child *ret, struct problem *reterr)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
	};
	int pidfd = -1;
	long pid;

	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0) {
		(void)problem_errno(reterr, "cannot make namespaces");
		return userns_cure(reterr);
	}
	*ret = (struct userns_child){ .pid = (pid_t)pid, .pidfd = pidfd };
	return STATUS_OK;
}

void
userns_end(struct userns_child *child)
{
	(void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
	(void)waitpid(child->pid, NULL, 0);
	fd_done(&child->pidfd);
	child->pid = -1;
}

/* A map is one write, or the kernel refuses it. */
static int
write_proc(pid_t pid, const char *name, const char *text, size_t length)
{
	char path[64];
	ON_SCOPE_EXIT(fd_done) int fd = -1;

	if (snprintf(path, sizeof(path), "/proc/%d/%s", pid, name) >=
	    (int)sizeof(path))
		return STATUS_TOO_LONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
write_map(pid_t pid, const char *name, unsigned inside, unsigned outside)
{
	char text[48];
	int length = snprintf(text, sizeof(text), "%u %u 1", inside, outside);

	if (length < 0 || (size_t)length >= sizeof(text))
		return STATUS_TOO_LONG;
	return write_proc(pid, name, text, (size_t)length);
}

int
userns_map(pid_t child, const struct userns_ids *ids, struct problem *reterr)
{
	/* Root leaves setgroups on, so that the inside can drop its groups. */
	if (!ids->switched &&
	    write_proc(child, "setgroups", "deny", 4) != STATUS_OK) {
		(void)problem_errno(reterr, "cannot write setgroups");
		return userns_cure(reterr);
	}
	if (write_map(child, "uid_map", USERNS_ID, ids->uid) != STATUS_OK ||
	    write_map(child, "gid_map", USERNS_ID, ids->gid) != STATUS_OK) {
		(void)problem_errno(reterr,
		    "cannot map user %u and group %u into the sandbox",
		    ids->uid, ids->gid);
		return userns_cure(reterr);
	}
	return STATUS_OK;
}

int
userns_become(const struct userns_ids *ids, struct problem *reterr)
{
	if (!ids->switched)
		return STATUS_OK;
	if (setgroups(0, NULL) != 0 ||
	    setresgid(USERNS_ID, USERNS_ID, USERNS_ID) != 0 ||
	    setresuid(USERNS_ID, USERNS_ID, USERNS_ID) != 0)
		return problem_errno(reterr, "cannot leave root's ids");
	return STATUS_OK;
}

/* A process that only holds a user namespace until its descriptor is open. */
static pid_t
start_holder(int *ret_hold)
{
	struct clone_args args = { .flags = CLONE_NEWUSER,
		.exit_signal = SIGCHLD };
	int ends[2];
	long pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		char byte;

		(void)close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	(void)close(ends[0]);
	if (pid < 0)
		(void)close(ends[1]);
	else
		*ret_hold = ends[1];
	return (pid_t)pid;
}

int
userns_for_owner(uid_t uid, gid_t gid, const struct userns_ids *ids,
    int *ret_fd, struct problem *reterr)
{
	int hold = -1, fd = -1, status;
	pid_t pid = start_holder(&hold);
	char path[64];

	if (pid < 0)
		return problem_errno(reterr, "cannot make a user namespace");
	if (write_map(pid, "uid_map", uid, ids->uid) == STATUS_OK &&
	    write_map(pid, "gid_map", gid, ids->gid) == STATUS_OK &&
	    snprintf(path, sizeof(path), "/proc/%d/ns/user", pid) > 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	status = fd < 0 ? problem_errno(reterr,
			      "cannot map the workspace's owner %u", uid)
			: STATUS_OK;
	(void)close(hold);
	(void)waitpid(pid, NULL, 0);
	if (status == STATUS_OK)
		*ret_fd = fd;
	return status;
}
