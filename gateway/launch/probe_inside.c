#include "gateway/launch/probe_inside.h"

#include "gateway/launch/devices.h"
#include "gateway/launch/etc.h"
#include "gateway/launch/listeners.h"
#include "gateway/launch/mounts.h"
#include "gateway/launch/netns.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/privs.h"
#include "gateway/launch/redirect.h"
#include "gateway/launch/syscalls.h"
#include "gateway/launch/view.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int
probe_namespaces(const struct plan *plan, struct problem *reterr)
{
	(void)plan;
	(void)reterr;
	return STATUS_OK;
}

int
probe_network(const struct plan *plan, struct problem *reterr)
{
	return netns_up(plan->nic, reterr);
}

int
probe_redirect(const struct plan *plan, struct problem *reterr)
{
	int status = netns_up(plan->nic, reterr);

	return status == STATUS_OK ? redirect_install(reterr) : status;
}

int
probe_listeners(const struct plan *plan, struct problem *reterr)
{
	struct listeners listeners;
	int status = netns_up(plan->nic, reterr);

	if (status == STATUS_OK)
		status = listeners_open(&listeners, reterr);
	if (status == STATUS_OK)
		listeners_done(&listeners);
	return status;
}

/* Somewhere that is nobody's (RFC 5737, RFC 3849): does it come to us? */
static int
round_trip(int listener, const struct endpoint *to, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int accepted = -1;
	struct sockaddr_storage at;
	socklen_t size = sizeof(at), length = endpoint_to_sockaddr(to, &at);
	ON_SCOPE_EXIT(fd_done)
	int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd wait = { .fd = listener, .events = POLLIN };
	struct endpoint seen = { 0 };

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, length) != 0)
		return problem_errno(reterr, "a connection is not caught");
	if (poll(&wait, 1, LIMIT_SIBLING_MS) == 1)
		accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (accepted < 0 ||
	    getsockname(accepted, (struct sockaddr *)&at, &size) != 0 ||
	    endpoint_from_sockaddr((struct sockaddr *)&at, &seen) != STATUS_OK)
		return problem_set(
		    reterr, "a connection does not reach its listener");
	if (!endpoint_equals(&seen, to))
		return problem_set(
		    reterr, "a connection does not tell where it meant to go");
	return STATUS_OK;
}

int
probe_round_trip(const struct plan *plan, struct problem *reterr)
{
	static const struct endpoint v4 = { { 4, { 198, 51, 100, 7 } }, 443 };
	static const struct endpoint v6 = {
		{ 16, { 0x20, 1, 0x0d, 0xb8, [15] = 7 } }, 8443
	};
	struct listeners listeners;
	int status = probe_redirect(plan, reterr);

	if (status == STATUS_OK)
		status = listeners_open(&listeners, reterr);
	if (status != STATUS_OK)
		return status;
	status = round_trip(listeners.fds[HANDOFF_TCP4], &v4, reterr);
	if (status == STATUS_OK)
		status = round_trip(listeners.fds[HANDOFF_TCP6], &v6, reterr);
	listeners_done(&listeners);
	return status;
}

int
probe_view(const struct plan *plan, struct problem *reterr)
{
	struct mounts mounts;
	int status = mounts_begin(&mounts, reterr);

	if (status != STATUS_OK)
		return status;
	status = view_build(&mounts, plan, reterr);
	if (status == STATUS_OK)
		status = devices_build(&mounts, reterr);
	if (status == STATUS_OK)
		status = etc_build(&mounts, plan, reterr);
	if (status == STATUS_OK)
		status = mounts_pivot(&mounts, reterr);
	mounts_done(&mounts);
	return status;
}

int
probe_proc(const struct plan *plan, struct problem *reterr)
{
	struct mounts mounts;
	int status = mounts_begin(&mounts, reterr);

	if (status != STATUS_OK)
		return status;
	status = devices_proc(&mounts, plan->nested, reterr);
	mounts_done(&mounts);
	return status;
}

int
probe_syscalls(const struct plan *plan, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	int status = privs_limit(plan, reterr);

	if (status == STATUS_OK)
		status = privs_drop(reterr);
	if (status == STATUS_OK)
		status = syscalls_filter(plan->nested, plan->ptrace, reterr);
	if (status != STATUS_OK)
		return status;
	/* A family that no network namespace keeps in. */
	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT)
		return STATUS_OK;
	return problem_set(reterr, "the filter does not filter");
}

int
probe_record(const struct plan *plan, struct problem *reterr)
{
	int listener = -1, status = privs_drop(reterr);

	if (status == STATUS_OK)
		status = syscalls_filter_told(
		    plan->nested, plan->ptrace, &listener, reterr);
	if (status == STATUS_REFUSED)
		return problem_set(reterr,
		    "programs are recorded by a sandbox around this one");
	fd_done(&listener);
	return status;
}

/* A whiteout is what no other means of the kernel can stand in for. */
static int
use_overlay(int tree, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int made = openat(tree, "made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;

	if (made < 0)
		return problem_errno(reterr, "nothing can be written in it");
	if (unlinkat(tree, "below", 0) != 0 ||
	    fstatat(AT_FDCWD, PROBE_UPPER "/below", &st, AT_SYMLINK_NOFOLLOW) !=
		0)
		return problem_errno(reterr, "nothing can be removed in it");
	return S_ISCHR(st.st_mode)
		   ? STATUS_OK
		   : problem_set(
			 reterr, "what is removed in it leaves no mark");
}

/* Where runs keep what they write: the working directory. */
int
probe_overlay(const struct plan *plan, struct problem *reterr)
{
	static const struct mounts_option options[] = {
		{ "lowerdir", PROBE_LOWER }, { "upperdir", PROBE_UPPER },
		{ "workdir", PROBE_WORK }, { "userxattr", NULL }, { NULL, NULL }
	};
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	struct mounts mounts;
	int status = mounts_begin(&mounts, reterr);

	(void)plan;
	if (status != STATUS_OK)
		return status;
	mounts_done(&mounts);
	status =
	    mounts_filesystem("overlay", options, MOUNTS_BOUND, &tree, reterr);
	if (status == STATUS_OK)
		status = use_overlay(tree, reterr);
	return status == STATUS_OK
		   ? STATUS_OK
		   : problem_cure(reterr,
			 "keep the files of runs on another file system, by "
			 "XDG_STATE_HOME, or let writes go through with "
			 "--files direct (overlay.xattr)");
}
