#include "gateway/proc/spawn.h"

#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where copies of descriptors wait while they change places. */
enum {
	PARKING = 64
};

/* From here on only async-signal-safe calls: another thread may hold locks. */
static void
reset_signals(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Puts fds at 0, 1, 2 …, with the error pipe right behind them.  Everything
 * is parked first, so that no descriptor is overwritten before it is copied.
 */
static bool
arrange(const struct spawn *spawn, int *report)
{
	int parked[SPAWN_FDS_MAX + 1];

	for (size_t i = 0; i <= spawn->count; i++) {
		int fd = i < spawn->count ? spawn->fds[i] : *report;

		parked[i] = -1;
		if (fd < 0)
			continue;
		parked[i] = fcntl(fd, F_DUPFD_CLOEXEC, PARKING);
		if (parked[i] < 0)
			return false;
	}
	for (size_t i = 0; i <= spawn->count; i++) {
		int flags = i < spawn->count ? 0 : O_CLOEXEC;

		if (parked[i] < 0)
			(void)close((int)i);
		else if (dup3(parked[i], (int)i, flags) < 0)
			return false;
	}
	*report = (int)spawn->count;
	return syscall(SYS_close_range, (unsigned)spawn->count + 1, ~0U, 0) ==
	       0;
}

static void
become(const struct spawn *spawn, int report, pid_t parent)
{
	int error;

	reset_signals();
	if (spawn->own_session)
		(void)setsid();
	if (arrange(spawn, &report)) {
		if (spawn->dies_with_parent &&
		    (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
			getppid() != parent))
			_exit(127);
		(void)execve(spawn->path, (char *const *)unconst(spawn->argv),
		    (char *const *)unconst(spawn->envp));
	}
	error = errno;
	(void)!write(report, &error, sizeof(error));
	_exit(127);
}

/* True when the exec worked: the pipe closed without a word. */
static bool
exec_worked(int report)
{
	int error = 0;
	ssize_t got;

	do
		got = read(report, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return true;
	errno = got == (ssize_t)sizeof(error) ? error : EIO;
	return false;
}

int
spawn_start(
    const struct spawn *spawn, struct spawned *ret, struct problem *reterr)
{
	struct clone_args args = { .flags = CLONE_PIDFD,
		.exit_signal = SIGCHLD };
	int report[2], pidfd = -1;
	pid_t parent = getpid();
	long pid;

	if (pipe2(report, O_CLOEXEC) != 0)
		return problem_errno(reterr, "cannot make a pipe");
	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		become(spawn, report[1], parent);
		_exit(127);
	}
	(void)close(report[1]);
	if (pid < 0) {
		(void)close(report[0]);
		return problem_errno(reterr, "cannot start a process");
	}
	*ret = (struct spawned){ .pid = (pid_t)pid, .pidfd = pidfd };
	if (!exec_worked(report[0])) {
		int error = errno, status;

		(void)close(report[0]);
		(void)spawn_wait(ret, -1, &status);
		spawned_done(ret);
		errno = error;
		return problem_errno(reterr, "cannot run %s", spawn->path);
	}
	(void)close(report[0]);
	return STATUS_OK;
}

bool
spawn_reap(struct spawned *spawned, int *ret_status)
{
	int status;

	if (waitpid(spawned->pid, &status, WNOHANG) != spawned->pid)
		return false;
	*ret_status = status;
	return true;
}

bool
spawn_wait(struct spawned *spawned, int timeout_ms, int *ret_status)
{
	struct pollfd ended = { .fd = spawned->pidfd, .events = POLLIN };
	int ready;

	do
		ready = poll(&ended, 1, timeout_ms);
	while (ready < 0 && errno == EINTR);
	return ready > 0 && spawn_reap(spawned, ret_status);
}

int
spawn_kill(const struct spawned *spawned, int number)
{
	if (syscall(SYS_pidfd_send_signal, spawned->pidfd, number, NULL, 0) !=
	    0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

void
spawned_done(struct spawned *spawned)
{
	if (spawned->pidfd >= 0)
		(void)close(spawned->pidfd);
	*spawned = (struct spawned){ .pid = -1, .pidfd = -1 };
}
