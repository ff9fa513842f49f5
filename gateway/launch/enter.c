/*
 * The order, and why.
 *
 * Outside: sources are opened before there is a sandbox that could change
 * them; ids are mapped before the inside does anything.
 *
 * Inside, with every capability of the new user namespace and none of the
 * machine's: the network first, because the gateway needs time to answer; the
 * view; then the trust files, for which the gateway's answer is awaited; then
 * the old root goes, and with it every way back.  Only then is there a second
 * process, and the first becomes init.  The command's process gives up
 * limits, capabilities and system calls, in this order, because each step
 * needs what the next one takes.
 */
#include "gateway/launch/enter.h"

#include "gateway/files/box.h"
#include "gateway/launch/become.h"
#include "gateway/launch/bounds.h"
#include "gateway/launch/devices.h"
#include "gateway/launch/environment.h"
#include "gateway/launch/etc.h"
#include "gateway/launch/init.h"
#include "gateway/launch/listeners.h"
#include "gateway/launch/masks.h"
#include "gateway/launch/mounts.h"
#include "gateway/launch/netns.h"
#include "gateway/launch/outcome.h"
#include "gateway/launch/overlay.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/privs.h"
#include "gateway/launch/pts.h"
#include "gateway/launch/redirect.h"
#include "gateway/launch/sources.h"
#include "gateway/launch/trust.h"
#include "gateway/launch/userns.h"
#include "gateway/launch/view.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/pipes.h"
#include "gateway/proc/terminal.h"
#include "schema/status.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the steps share; the inside has a copy of it. */
struct entry {
	const struct plan *plan;
	const struct terminal *terminal;
	const struct pipes *pipes;
	const struct bounds *bounds;
	struct userns_ids ids;
	struct sources sources;
	struct mounts mounts;
	struct environment environment;
	int program; /* this program, to become init */
	int control; /* the inside's end of the pair */
	int gate[2]; /* the command reads a byte before it runs */
	int slave; /* the sandbox's terminal; -1: it has none */
};

typedef int entry_step(struct entry *, struct problem *);

struct step {
	enum stage stage;
	entry_step *run;
};

/* ---- the steps of process 1 ---- */

static int
take_identity(struct entry *entry, struct problem *reterr)
{
	struct report report;
	struct fdpass fds;

	if (report_receive(entry->control, &report, &fds) != STATUS_OK ||
	    report.kind != REPORT_GO)
		return problem_set(reterr, "the launcher is gone");
	if (userns_become(&entry->ids, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	/* After a change of ids, which takes back the wish to follow. */
	if (init_follow(entry->control) != STATUS_OK)
		return problem_set(reterr, "the launcher is gone");
	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		return problem_errno(reterr, "cannot hide from debuggers");
	(void)umask(022);
	if (sethostname(entry->plan->hostname, strlen(entry->plan->hostname)) !=
	    0)
		return problem_errno(reterr, "cannot set the host name");
	return STATUS_OK;
}

static int
make_network(struct entry *entry, struct problem *reterr)
{
	return netns_up(entry->plan->nic, reterr);
}

static int
make_redirect(struct entry *entry, struct problem *reterr)
{
	(void)entry;
	return redirect_install(reterr);
}

static int
make_listeners(struct entry *entry, struct problem *reterr)
{
	struct report report = { .kind = REPORT_LISTENERS,
		.stage = STAGE_LISTENERS };
	struct listeners listeners;
	int status = listeners_open(&listeners, reterr);
	int fds[REPORT_LISTENER_FDS];
	int *counters = &fds[HANDOFF_FD_COUNT];

	if (status != STATUS_OK)
		return status;
	memcpy(fds, listeners.fds, sizeof(listeners.fds));
	*counters =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	if (*counters < 0)
		status = STATUS_SYSTEM;
	else
		status = report_send(entry->control, &report, fds);
	fd_done(counters);
	listeners_done(&listeners);
	return status == STATUS_OK
		   ? STATUS_OK
		   : problem_errno(reterr, "cannot pass the listeners out");
}

static int
make_view(struct entry *entry, struct problem *reterr)
{
	int status = mounts_begin(&entry->mounts, reterr);

	if (status != STATUS_OK)
		return status;
	return view_build(&entry->mounts, entry->plan, reterr);
}

static int
make_devices(struct entry *entry, struct problem *reterr)
{
	return devices_build(&entry->mounts, reterr);
}

static int
make_etc(struct entry *entry, struct problem *reterr)
{
	return etc_build(&entry->mounts, entry->plan, reterr);
}

static int
make_proc(struct entry *entry, struct problem *reterr)
{
	return devices_proc(&entry->mounts, entry->plan->nested, reterr);
}

/* Paths and sentences that are too long lose their ends. */
static void
tell_text(enum report_kind kind, const char *text, void *arg)
{
	const struct entry *entry = arg;
	struct report report = { .kind = kind, .stage = STAGE_MASKS };

	(void)problem_set(&report.problem, "%s", text);
	/* A launcher that is gone takes us along. */
	(void)!report_send(entry->control, &report, NULL);
}

static void
on_hidden(const char *path, void *arg)
{
	tell_text(REPORT_HIDDEN, path, arg);
}

static void
on_degraded(const char *text, void *arg)
{
	tell_text(REPORT_DEGRADED, text, arg);
}

/* The workspace first: other mounts may lie in it. */
static int
make_workspace(struct entry *entry, struct problem *reterr)
{
	const struct masks_listener listener = { on_hidden, on_degraded,
		entry };
	struct sources *sources = &entry->sources;
	bool overlay = entry->plan->folder_count > 0;
	int status = STATUS_OK;

	if (overlay)
		status = overlay_mount(
		    sources, entry->plan, &entry->mounts, &listener, reterr);
	for (size_t i = overlay ? 1 : 0;
	     status == STATUS_OK && i < sources->mount_count; i++)
		status =
		    sources_mount(&sources->list[i], &entry->mounts, reterr);
	for (size_t i = 0;
	     status == STATUS_OK && i < entry->plan->scratch_count; i++)
		status =
		    mounts_tmpfs(&entry->mounts, entry->plan->scratch[i].at,
			entry->plan->scratch[i].bytes, "1777", 0, reterr);
	return status;
}

/* Only a directory can hold what was not meant. */
static int
mask_secrets(struct entry *entry, struct problem *reterr)
{
	const struct masks_listener listener = { on_hidden, on_degraded,
		entry };
	int status = STATUS_OK;

	/* In an overlay it is done already. */
	for (size_t i = entry->plan->folder_count > 0 ? 1 : 0;
	     status == STATUS_OK && i < entry->sources.mount_count; i++) {
		const struct source *source = &entry->sources.list[i];

		if (!source->directory)
			continue;
		status = masks_hide(&entry->mounts, entry->plan,
		    source->mount->at, &listener, reterr);
		if (status == STATUS_OK && source->mount->writable)
			status = masks_freeze(&entry->mounts, source->mount->at,
			    &listener, reterr);
	}
	return status;
}

static int
lay_trust(struct entry *entry, struct problem *reterr)
{
	struct report report;
	struct fdpass fds;
	int trust[HANDOFF_TRUST_COUNT], status;

	if (report_receive(entry->control, &report, &fds) != STATUS_OK ||
	    report.kind != REPORT_TRUST)
		return problem_set(reterr, "the gateway sent no trust bundle");
	for (size_t i = 0; i < HANDOFF_TRUST_COUNT; i++)
		trust[i] = fdpass_take(&fds, i);
	status = trust_lay(&entry->mounts, trust, reterr);
	for (size_t i = 0; i < HANDOFF_TRUST_COUNT; i++)
		(void)close(trust[i]);
	return status;
}

/* What it uses is seen by it from outside. */
static int
tell_proc(const struct entry *entry, struct problem *reterr)
{
	struct report report = { .kind = REPORT_PROC, .stage = STAGE_PROC };
	ON_SCOPE_EXIT(fd_done)
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0 ||
	    report_send(entry->control, &report, &proc) != STATUS_OK)
		return problem_errno(reterr, "cannot pass /proc out");
	return STATUS_OK;
}

static int
change_root(struct entry *entry, struct problem *reterr)
{
	int status = mounts_pivot(&entry->mounts, reterr);

	if (status == STATUS_OK)
		status = tell_proc(entry, reterr);

	mounts_done(&entry->mounts);
	sources_done(&entry->sources);
	return status;
}

static int
make_environment(struct entry *entry, struct problem *reterr)
{
	if (environment_build(entry->plan, &entry->environment) != STATUS_OK)
		return problem_set(reterr, "there is no memory");
	/* A new session keyring: the user's is not inherited. */
	(void)syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
	if (pipe2(entry->gate, O_CLOEXEC) != 0)
		return problem_errno(reterr, "cannot make a pipe");
	return STATUS_OK;
}

static int
make_terminal(struct entry *entry, struct problem *reterr)
{
	struct report report = { .kind = REPORT_TERMINAL,
		.stage = STAGE_TERMINAL };
	int master, status;

	if (!terminal_is_there(entry->terminal))
		return STATUS_OK;
	status = pts_open(
	    terminal_look(entry->terminal), &master, &entry->slave, reterr);
	if (status != STATUS_OK)
		return status;
	status = report_send(entry->control, &report, &master);
	(void)close(master);
	return status == STATUS_OK
		   ? STATUS_OK
		   : problem_errno(reterr, "cannot pass the terminal out");
}

static const struct step inside[] = {
	{ STAGE_IDENTITY, take_identity },
	{ STAGE_NETWORK, make_network },
	{ STAGE_REDIRECT, make_redirect },
	{ STAGE_LISTENERS, make_listeners },
	{ STAGE_VIEW, make_view },
	{ STAGE_DEVICES, make_devices },
	{ STAGE_ETC, make_etc },
	{ STAGE_PROC, make_proc },
	{ STAGE_WORKSPACE, make_workspace },
	{ STAGE_MASKS, mask_secrets },
	{ STAGE_TRUST, lay_trust },
	{ STAGE_PIVOT, change_root },
	{ STAGE_TERMINAL, make_terminal },
	{ STAGE_INIT, make_environment },
};

/* ---- the steps of the command's process ---- */

static int
enter_terminal(struct entry *entry, struct problem *reterr)
{
	if (pipes_enter(entry->pipes, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	if (entry->slave < 0) {
		if (setsid() < 0)
			return problem_errno(reterr, "cannot make a session");
	} else if (pts_enter(entry->slave, terminal_replaced(entry->terminal),
		       reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	return STATUS_OK;
}

/* ---- carrying them out ---- */

static NORETURN void
tell_failure(struct entry *entry, enum stage stage, int code,
    const struct problem *problem)
{
	struct report report = { .kind = REPORT_FAILED,
		.stage = stage,
		.value = code,
		.problem = *problem };

	/* Who cannot be told sees the socket end, which is a failure too. */
	(void)!report_send(entry->control, &report, NULL);
	_exit(OUTCOME_CODE_FAILED);
}

static void
take_steps(struct entry *entry, const struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct problem problem = { 0 };
		int status = steps[i].run(entry, &problem);

		if (status == STATUS_OK)
			continue;
		if (status != STATUS_PROBLEM)
			(void)problem_set(
			    &problem, "it failed (%s)", status_name(status));
		tell_failure(
		    entry, steps[i].stage, OUTCOME_CODE_FAILED, &problem);
	}
}

/* The process that becomes the command. */
static void
run_command(struct entry *entry)
{
	const struct become become = { .plan = entry->plan,
		.bounds = entry->bounds,
		.cwd = entry->plan->cwd,
		.argv = (char **)unconst(entry->plan->command),
		.environment = entry->environment,
		.control = entry->control };
	struct problem problem = { 0 };
	enum stage stage;
	char byte;

	(void)close(entry->gate[1]);
	if (enter_terminal(entry, &problem) != STATUS_OK)
		tell_failure(
		    entry, STAGE_TERMINAL, OUTCOME_CODE_FAILED, &problem);
	if (become_confined(&become, &stage, &problem) != STATUS_OK)
		tell_failure(entry, stage, OUTCOME_CODE_FAILED, &problem);
	/* Nothing above the standard descriptors outlives execve. */
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
		_exit(OUTCOME_CODE_FAILED);
	/* No byte: init could not be made, and nothing may run. */
	if (read(entry->gate[0], &byte, 1) != 1)
		_exit(OUTCOME_CODE_FAILED);
	tell_failure(
	    entry, STAGE_COMMAND, become_executed(&become, &problem), &problem);
}

/* Process 1, from its birth until it is init. */
static void
run_inside(struct entry *entry)
{
	struct problem problem = { 0 };
	pid_t child;

	take_steps(entry, inside, sizeof(inside) / sizeof(inside[0]));
	child = fork();
	if (child == 0)
		run_command(entry);
	(void)close(entry->gate[0]);
	if (child < 0)
		(void)problem_errno(&problem, "cannot start a process");
	else if (privs_drop(&problem) == STATUS_OK)
		(void)!init_become(entry->program, entry->control,
		    entry->gate[1], child, &problem);
	tell_failure(entry, STAGE_INIT, OUTCOME_CODE_FAILED, &problem);
}

/* ---- outside ---- */

static int
open_outside(struct entry *entry, int pair[2], enum stage *ret_stage,
    struct problem *reterr)
{
	int status;

	*ret_stage = STAGE_SOURCES;
	status = sources_open(entry->plan, &entry->sources, reterr);
	if (status == STATUS_OK && entry->ids.switched)
		status = sources_map(
		    &entry->sources, entry->plan, &entry->ids, reterr);
	if (status == STATUS_OK && entry->ids.switched)
		status = pipes_give(
		    entry->pipes, entry->ids.uid, entry->ids.gid, reterr);
	if (status != STATUS_OK)
		return status;
	*ret_stage = STAGE_NAMESPACES;
	entry->program = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	if (entry->program < 0)
		return problem_errno(reterr, "cannot find our own program");
	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a socket pair");
	return STATUS_OK;
}

static int
start_inside(struct entry *entry, struct entered *entered, int control,
    struct problem *reterr)
{
	struct report go = { .kind = REPORT_GO, .stage = STAGE_IDENTITY };
	struct userns_child child;
	int status = userns_clone(&child, reterr);

	if (status != STATUS_OK)
		return status;
	if (child.pid == 0) {
		entry->control = control;
		(void)close(entered->control);
		/* The launcher's: plan, gateway, result, parent, audit. */
		(void)close_range(3, 7, 0);
		run_inside(entry);
		_exit(OUTCOME_CODE_FAILED);
	}
	entered->child = child;
	entered->ids = entry->ids;
	/* Before it does anything that could be counted. */
	if (cgroup_add(&entry->bounds->cgroup, child.pid) != STATUS_OK)
		return problem_errno(
		    reterr, "cannot put the sandbox into its control group");
	if (entry->plan->folder_count > 0 &&
	    box_note_init(entry->sources.list[entry->sources.mount_count].fd,
		child.pid) != STATUS_OK)
		return problem_errno(
		    reterr, "cannot note the sandbox's process");
	status = userns_map(child.pid, &entry->ids, reterr);
	if (status == STATUS_OK &&
	    report_send(entered->control, &go, NULL) != STATUS_OK)
		status = problem_set(reterr, "the sandbox's process is gone");
	return status;
}

int
enter_start(const struct enter_order *order, struct entered *ret,
    enum stage *ret_stage, struct problem *reterr)
{
	struct entry entry = { .plan = order->plan,
		.terminal = order->terminal,
		.pipes = order->pipes,
		.bounds = order->bounds,
		.ids = userns_ids(),
		.program = -1,
		.slave = -1,
		.mounts = { -1, -1, -1 } };
	struct entered entered = { .child = { -1, -1 }, .control = -1 };
	int pair[2] = { -1, -1 };
	int status = open_outside(&entry, pair, ret_stage, reterr);

	if (status == STATUS_OK) {
		entered.control = pair[0];
		status = start_inside(&entry, &entered, pair[1], reterr);
	}
	fd_done(&pair[1]);
	fd_done(&entry.program);
	sources_done(&entry.sources);
	if (status != STATUS_OK) {
		entered_done(&entered);
		return status;
	}
	*ret = entered;
	return STATUS_OK;
}

void
entered_done(struct entered *entered)
{
	if (entered->child.pid > 0)
		userns_end(&entered->child);
	fd_done(&entered->control);
}
