#include "gateway/launch/probe.h"

#include "gateway/launch/cgroup.h"
#include "gateway/launch/devices.h"
#include "gateway/launch/etc.h"
#include "gateway/launch/listeners.h"
#include "gateway/launch/mounts.h"
#include "gateway/launch/netns.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_parse.h"
#include "gateway/launch/privs.h"
#include "gateway/launch/redirect.h"
#include "gateway/launch/report.h"
#include "gateway/launch/syscalls.h"
#include "gateway/launch/userns.h"
#include "gateway/launch/view.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/fdpass.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a launch without anything special would do. */
static const char probe_plan[] =
    "{\"version\":1,\"run\":\"probe\",\"command\":[\"true\"]}";

enum probe_result {
	PROBE_OK,
	PROBE_DEGRADED, /* a launch works, with less */
	PROBE_MISSING,
	PROBE_COUNT
};

static const char *const result_names[] = {
	[PROBE_OK] = "ok",
	[PROBE_DEGRADED] = "degraded",
	[PROBE_MISSING] = "missing",
};

static_assert(sizeof(result_names) / sizeof(result_names[0]) == PROBE_COUNT,
    "every result has a name");

typedef int probe_step(const struct plan *, struct problem *);

struct probe {
	const char *name;
	probe_step *run;
	bool inside; /* in new namespaces, or as we are */
	bool needed;
};

/* ---- inside ---- */

static int
try_namespaces(const struct plan *plan, struct problem *reterr)
{
	(void)plan;
	(void)reterr;
	return STATUS_OK;
}

static int
try_network(const struct plan *plan, struct problem *reterr)
{
	return netns_up(plan->nic, reterr);
}

static int
try_redirect(const struct plan *plan, struct problem *reterr)
{
	int status = netns_up(plan->nic, reterr);

	return status == STATUS_OK ? redirect_install(reterr) : status;
}

static int
try_listeners(const struct plan *plan, struct problem *reterr)
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

static int
try_round_trip(const struct plan *plan, struct problem *reterr)
{
	static const struct endpoint v4 = { { 4, { 198, 51, 100, 7 } }, 443 };
	static const struct endpoint v6 = {
		{ 16, { 0x20, 1, 0x0d, 0xb8, [15] = 7 } }, 8443
	};
	struct listeners listeners;
	int status = try_redirect(plan, reterr);

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

static int
try_view(const struct plan *plan, struct problem *reterr)
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

static int
try_proc(const struct plan *plan, struct problem *reterr)
{
	struct mounts mounts;
	int status = mounts_begin(&mounts, reterr);

	if (status != STATUS_OK)
		return status;
	status = devices_proc(&mounts, plan->nested, reterr);
	mounts_done(&mounts);
	return status;
}

static int
try_syscalls(const struct plan *plan, struct problem *reterr)
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

/* ---- as we are ---- */

static int
try_idmap(const struct plan *plan, struct problem *reterr)
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

static int
try_landlock(const struct plan *plan, struct problem *reterr)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	(void)plan;
	if (version >= 1)
		return STATUS_OK;
	(void)problem_errno(reterr, "there is no Landlock");
	return problem_cure(reterr,
	    "start the kernel with lsm=landlock,... to confine Exeat's own "
	    "processes further");
}

static int
try_record(const struct plan *plan, struct problem *reterr)
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

/* Which of them we may give; the rest has other means or none. */
static int
try_groups(const struct plan *plan, struct problem *reterr)
{
	static const enum cgroup_controller wanted[] = { CGROUP_MEMORY,
		CGROUP_CPU, CGROUP_FREEZER };
	struct cgroup cgroup;
	bool all = true;

	cgroup_make(plan->run, &cgroup);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		all = all && cgroup_has(&cgroup, wanted[i]);
	cgroup_done(&cgroup);
	if (all)
		return STATUS_OK;
	(void)problem_set(reterr,
	    "no control groups are ours to give: memory is kept by looking, "
	    "processors only as whole ones, and a pause by SIGSTOP");
	return problem_cure(reterr,
	    "systemd-run --user --scope -p Delegate=yes exeat run ..., or as "
	    "root");
}

static const struct probe probes[] = {
	{ "namespaces", try_namespaces, true, true },
	{ "network", try_network, true, true },
	{ "redirect", try_redirect, true, true },
	{ "listeners", try_listeners, true, true },
	{ "round trip", try_round_trip, true, true },
	{ "view", try_view, true, true },
	{ "proc", try_proc, true, true },
	{ "syscalls", try_syscalls, true, true },
	{ "owner map", try_idmap, false, false },
	{ "landlock", try_landlock, false, false },
	{ "exec record", try_record, true, false },
	{ "control groups", try_groups, false, false },
};

/* ---- running one ---- */

/* In the child: waits for its ids, tries, tells. */
static NORETURN void
answer(const struct probe *probe, const struct plan *plan, int control,
    const struct userns_ids *ids)
{
	struct report report;
	struct fdpass fds;
	struct problem problem = { 0 };
	int status;

	if (report_receive(control, &report, &fds) != STATUS_OK ||
	    report.kind != REPORT_GO)
		_exit(1);
	status = userns_become(ids, &problem);
	if (status == STATUS_OK)
		status = probe->run(plan, &problem);
	report = (struct report){ .kind = status == STATUS_OK ? REPORT_STARTED
							      : REPORT_FAILED,
		.problem = problem };
	_exit(report_send(control, &report, NULL) == STATUS_OK ? 0 : 1);
}

/* Outside: maps the child's ids and hears how it went. */
static int
ask(const struct userns_child *child, int control, const struct userns_ids *ids,
    struct problem *reterr)
{
	struct report report = { .kind = REPORT_GO };
	struct pollfd wait = { .fd = control, .events = POLLIN };
	struct fdpass fds;
	int status = userns_map(child->pid, ids, reterr);

	if (status != STATUS_OK)
		return status;
	if (report_send(control, &report, NULL) != STATUS_OK ||
	    poll(&wait, 1, LIMIT_SIBLING_MS) != 1 ||
	    report_receive(control, &report, &fds) != STATUS_OK)
		return problem_set(reterr, "the probe gave no answer");
	if (report.kind == REPORT_STARTED)
		return STATUS_OK;
	*reterr = report.problem;
	return STATUS_PROBLEM;
}

static int
try_inside(
    const struct probe *probe, const struct plan *plan, struct problem *reterr)
{
	struct userns_ids ids = userns_ids();
	struct userns_child child;
	int pair[2], status;

	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a socket pair");
	status = userns_clone(&child, reterr);
	if (status == STATUS_OK && child.pid == 0) {
		(void)close(pair[0]);
		answer(probe, plan, pair[1], &ids);
	}
	(void)close(pair[1]);
	if (status == STATUS_OK) {
		status = ask(&child, pair[0], &ids, reterr);
		userns_end(&child);
	}
	(void)close(pair[0]);
	return status;
}

static enum probe_result
try(const struct probe *probe, const struct plan *plan, struct problem *reterr)
{
	int status = probe->inside ? try_inside(probe, plan, reterr)
				   : probe->run(plan, reterr);

	if (status == STATUS_OK)
		return PROBE_OK;
	if (status != STATUS_PROBLEM)
		(void)problem_set(
		    reterr, "it failed (%s)", status_name(status));
	return probe->needed ? PROBE_MISSING : PROBE_DEGRADED;
}

static void
print(const struct probe *probe, enum probe_result result,
    const struct problem *problem, int out)
{
	const char *between = problem->cure[0] == '\0' ? "" : "; ";

	if (result == PROBE_OK)
		(void)dprintf(out, "ok        %s\n", probe->name);
	else
		(void)dprintf(out, "%-9s %s: %s%s%s\n", result_names[result],
		    probe->name, problem->text, between, problem->cure);
}

static void
put(struct json *j, const struct probe *probe, enum probe_result result,
    const struct problem *problem)
{
	json_open(j, NULL, '{');
	json_text(j, "probe", probe->name);
	json_text(j, "result", result_names[result]);
	if (result != PROBE_OK) {
		json_text(j, "error", problem->text);
		json_text(j, "cure", problem->cure);
	}
	json_close(j, '}');
}

bool
probe_all(bool as_json, int out)
{
	unsigned char text[16384];
	struct cursor_writer writer = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&writer);
	struct plan plan;
	bool works = true;

	if (plan_parse(probe_plan, sizeof(probe_plan) - 1, &plan, NULL) !=
	    STATUS_OK)
		return false;
	json_open(&j, NULL, '[');
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		struct problem problem = { 0 };
		enum probe_result result = try(&probes[i], &plan, &problem);

		works = works && result != PROBE_MISSING;
		if (as_json)
			put(&j, &probes[i], result, &problem);
		else
			print(&probes[i], result, &problem, out);
	}
	json_close(&j, ']');
	cursor_put_u8(&writer, '\n');
	plan_done(&plan);
	if (as_json &&
	    (!cursor_written(&writer) ||
		write(out, text, writer.used) != (ssize_t)writer.used))
		return false;
	return works;
}
