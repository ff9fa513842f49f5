#include "gateway/proc/spawn.h"

#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PARKING = 64, /* where copies of descriptors wait to change places */
	STACK_BYTES = 64 * 1024 /* of a child, until it is its program */
};

/*
 * What both see: until it is its program, the child works in our memory and
 * we stand still.  A copy of our memory would cost more than the rest.
 */
struct birth {
	const struct spawn *spawn;
	pid_t parent;
	int error; /* why there is no program; 0: there is */
};

/* A handler of ours in the child would work in our memory, too. */
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
 * Puts fds at 0, 1, 2 ….  Everything is parked first, so that no descriptor
 * is overwritten before it is copied.
 */
static bool
arrange(const struct spawn *spawn)
{
	int parked[SPAWN_FDS_MAX];

	for (size_t i = 0; i < spawn->count; i++) {
		parked[i] = -1;
		if (spawn->fds[i] < 0)
			continue;
		parked[i] = fcntl(spawn->fds[i], F_DUPFD_CLOEXEC, PARKING);
		if (parked[i] < 0)
			return false;
	}
	for (size_t i = 0; i < spawn->count; i++) {
		if (parked[i] < 0)
			(void)close((int)i);
		else if (dup3(parked[i], (int)i, 0) < 0)
			return false;
	}
	return syscall(SYS_close_range, (unsigned)spawn->count, ~0U, 0) == 0;
}

/* What it returns is its exit code. */
static int
become(void *arg)
{
	struct birth *birth = arg;
	const struct spawn *spawn = birth->spawn;

	reset_signals();
	if (spawn->own_session)
		(void)setsid();
	/* One whose parent is gone has nobody to tell anything. */
	if (spawn->dies_with_parent && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
					   getppid() != birth->parent))
		return 127;
	if (arrange(spawn))
		(void)execve(spawn->path, (char *const *)unconst(spawn->argv),
		    (char *const *)unconst(spawn->envp));
	birth->error = errno;
	return 127;
}

/* Gives the child's number, or -1 and errno. */
static pid_t
give_birth(struct birth *birth, int *ret_pidfd)
{
	/* From the heap: a sanitizer forgets what the child left on it. */
	char *stack = malloc(STACK_BYTES);
	sigset_t all, before;
	pid_t pid;
	int error;

	if (stack == NULL)
		return -1;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(become, stack + STACK_BYTES,
	    CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, birth, ret_pidfd);
	error = errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	free(stack);
	errno = error;
	return pid;
}

int
spawn_start(
    const struct spawn *spawn, struct spawned *ret, struct problem *reterr)
{
	struct birth birth = { .spawn = spawn, .parent = getpid() };
	int pidfd = -1, status;
	pid_t pid = give_birth(&birth, &pidfd);

	if (pid < 0)
		return problem_errno(reterr, "cannot start a process");
	*ret = (struct spawned){ .pid = pid, .pidfd = pidfd };
	if (birth.error == 0)
		return STATUS_OK;
	(void)spawn_wait(ret, -1, &status);
	spawned_done(ret);
	errno = birth.error;
	return problem_errno(reterr, "cannot run %s", spawn->path);
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
