#include "gateway/launch/join.h"

#include "gateway/launch/become.h"
#include "gateway/launch/bounds.h"
#include "gateway/launch/outcome.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/pts.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/terminal.h"
#include "schema/reins.h"
#include "schema/status.h"

#include <errno.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOIN_NAMESPACES                                              \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | \
	    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

struct join {
	const struct join_order *order;
	int control; /* our end, in the process that enters */
	int slave; /* -1: it has no terminal */
	struct become become;
};

static NORETURN void
fail(const struct join *join, enum stage stage, int code,
    const struct problem *problem)
{
	struct report report = { .kind = REPORT_FAILED,
		.stage = stage,
		.value = code,
		.problem = *problem };

	(void)!report_send(join->control, &report, NULL);
	_exit(code);
}

/* ---- the program's own process ---- */

static int
take_descriptors(const struct join *join, struct problem *reterr)
{
	static const bool all[REINS_EXEC_FDS] = { true, true, true };

	if (join->slave >= 0)
		return pts_enter(join->slave, all, reterr);
	for (int fd = 0; fd < REINS_EXEC_FDS; fd++)
		if (dup2(join->order->fds[fd], fd) != fd)
			return problem_errno(reterr, "cannot take a pipe");
	if (setsid() < 0)
		return problem_errno(reterr, "cannot make a session");
	return STATUS_OK;
}

static NORETURN void
run_program(struct join *join)
{
	struct problem problem = { 0 };
	enum stage stage = STAGE_TERMINAL;
	int code;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(OUTCOME_CODE_FAILED);
	if (take_descriptors(join, &problem) != STATUS_OK ||
	    become_confined(&join->become, &stage, &problem) != STATUS_OK ||
	    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
		fail(join, stage, OUTCOME_CODE_FAILED, &problem);
	code = become_executed(&join->become, &problem);
	fail(join, STAGE_COMMAND, code, &problem);
}

/* ---- the process that enters and waits ---- */

static int
open_terminal(struct join *join, struct problem *reterr)
{
	const struct reins_exec *exec = join->order->exec;
	struct report report = { .kind = REPORT_TERMINAL,
		.stage = STAGE_TERMINAL };
	struct terminal_look look = { .size = { .ws_row = exec->rows,
					  .ws_col = exec->columns } };
	int master, status;

	if (!exec->terminal)
		return STATUS_OK;
	/* Settings are the kernel's own for a new terminal. */
	status = pts_open(&look, &master, &join->slave, reterr);
	if (status != STATUS_OK)
		return status;
	status = report_send(join->control, &report, &master);
	(void)close(master);
	return status;
}

static int
enter(struct join *join, struct problem *reterr)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0) != 0)
		return problem_errno(reterr, "cannot hide from debuggers");
	if (setns(join->order->init, JOIN_NAMESPACES) != 0)
		return problem_errno(reterr, "cannot enter the sandbox");
	if (userns_become(join->order->ids, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	/* A change of ids takes both wishes back. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0) != 0)
		return problem_errno(reterr, "cannot hide from debuggers");
	(void)umask(022);
	if (environment_build(join->order->plan, &join->become.environment) !=
	    STATUS_OK)
		return problem_set(reterr, "there is no memory");
	return open_terminal(join, reterr);
}

/* A SIGTERM says that nobody wants it any more: its whole group ends. */
static int
wait_for(pid_t child)
{
	sigset_t set;
	int status = 0, number;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	while (waitpid(child, &status, WNOHANG) == 0)
		if (sigwait(&set, &number) == 0 && number == SIGTERM)
			(void)kill(-child, SIGKILL);
	return status;
}

static NORETURN void
run_inside(struct join *join)
{
	sigset_t all;
	struct problem problem = { 0 };
	struct report report;
	struct fdpass fds;
	int status;
	pid_t child;

	/* The program starts with none of it: see become. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	/* Counted by the sandbox's groups before it does anything. */
	if (report_receive(join->control, &report, &fds) != STATUS_OK ||
	    report.kind != REPORT_GO)
		_exit(OUTCOME_CODE_FAILED);
	if (enter(join, &problem) != STATUS_OK)
		fail(join, STAGE_NAMESPACES, OUTCOME_CODE_FAILED, &problem);
	child = fork();
	if (child < 0) {
		(void)problem_errno(&problem, "cannot start a process");
		fail(join, STAGE_INIT, OUTCOME_CODE_FAILED, &problem);
	}
	if (child == 0)
		run_program(join);
	(void)close(join->control);
	fd_done(&join->slave);
	status = wait_for(child);
	_exit(WIFSIGNALED(status) ? OUTCOME_CODE_SIGNAL + WTERMSIG(status)
				  : WEXITSTATUS(status));
}

/* ---- outside ---- */

/* Gives an argument vector in one piece of memory, to be freed. */
static char **
arguments_of(const struct reins_exec *exec)
{
	struct cursor in = exec->argv, word;
	size_t table = (exec->count + 1U) * sizeof(char *);
	/* Each has a length of two bytes, which becomes its NUL. */
	char **argv = calloc(1, table + exec->argv.left);
	char *at;

	if (argv == NULL)
		return NULL;
	at = (char *)argv + table;
	for (uint16_t i = 0; i < exec->count && cursor_block(&in, &word); i++) {
		argv[i] = at;
		memcpy(at, word.at, word.left);
		at += word.left + 1;
	}
	return argv;
}

static int
clone_child(struct joined *ret)
{
	struct clone_args args = { .flags = CLONE_PIDFD,
		.exit_signal = SIGCHLD };
	int pidfd = -1;
	long pid;

	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return STATUS_SYSTEM;
	ret->pid = (pid_t)pid;
	ret->pidfd = pidfd;
	return STATUS_OK;
}

static int
start(struct join *join, struct joined *joined, struct problem *reterr)
{
	struct report go = { .kind = REPORT_GO, .stage = STAGE_IDENTITY };
	int pair[2];

	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a socket pair");
	joined->control = pair[0];
	if (clone_child(joined) != STATUS_OK) {
		(void)close(pair[1]);
		return problem_errno(reterr, "cannot start a process");
	}
	if (joined->pid == 0) {
		join->control = pair[1];
		join->become.control = pair[1];
		run_inside(join);
	}
	(void)close(pair[1]);
	if (cgroup_add(&join->order->bounds->cgroup, joined->pid) != STATUS_OK)
		return problem_errno(
		    reterr, "cannot put the program into its control group");
	if (report_send(joined->control, &go, NULL) != STATUS_OK)
		return problem_set(reterr, "the program's process is gone");
	return STATUS_OK;
}

int
join_start(
    const struct join_order *order, struct joined *ret, struct problem *reterr)
{
	char **argv = arguments_of(order->exec);
	struct join join = { .order = order,
		.slave = -1,
		.become = { .plan = order->plan,
		    .bounds = order->bounds,
		    .cwd = order->exec->cwd[0] == '\0' ? order->plan->cwd
						       : order->exec->cwd,
		    .argv = argv } };
	struct joined joined = { .pid = -1, .pidfd = -1, .control = -1 };
	int status = argv == NULL ? problem_set(reterr, "there is no memory")
				  : start(&join, &joined, reterr);

	free(argv);
	if (status != STATUS_OK) {
		joined_done(&joined);
		return status;
	}
	*ret = joined;
	return STATUS_OK;
}

unsigned
join_code(const struct joined *joined)
{
	int status;

	if (waitpid(joined->pid, &status, WNOHANG) != joined->pid)
		return OUTCOME_CODE_FAILED;
	return WIFSIGNALED(status)
		   ? (unsigned)(OUTCOME_CODE_SIGNAL + WTERMSIG(status))
		   : (unsigned)WEXITSTATUS(status);
}

void
joined_done(struct joined *joined)
{
	if (joined->pidfd >= 0) {
		(void)syscall(
		    SYS_pidfd_send_signal, joined->pidfd, SIGTERM, NULL, 0);
		/* One that is paused ends later; we may not wait for it. */
		(void)waitpid(joined->pid, NULL, WNOHANG);
	}
	fd_done(&joined->pidfd);
	fd_done(&joined->control);
	joined->pid = -1;
}
