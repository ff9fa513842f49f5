/*
 * bench_execs - what one execve costs whoever calls it.
 *
 *	bench_execs COUNT PROGRAM [bare]
 *
 * Prints two medians in nanoseconds: of calls that fail at once, which is all
 * of the way to the kernel and what watches it, and of PROGRAM started and
 * waited for.  With "bare" somebody watches who lets every call go on and
 * reads nothing: no recorder can cost less.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MAX 100000

/* Younger than the headers we build with (Linux 6.6). */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

static int64_t
now_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

static int64_t
fail_once(char **argv)
{
	char *environment[] = { NULL };
	int64_t began = now_ns();

	(void)execve("/nowhere/to/be/found", argv, environment);
	return now_ns() - began;
}

static int64_t
start_once(char **argv)
{
	char *environment[] = { NULL };
	int64_t began = now_ns();
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environment) != 0 ||
	    waitpid(pid, NULL, 0) != pid)
		_exit(1);
	return now_ns() - began;
}

static int64_t
median(int64_t (*call)(char **), char **argv, size_t count)
{
	int64_t *took = calloc(count, sizeof(*took)), middle;

	if (took == NULL)
		exit(1);
	for (size_t i = 0; i < count; i++)
		took[i] = call(argv);
	qsort(took, count, sizeof(*took), compare);
	middle = took[count / 2];
	free(took);
	return middle;
}

/* Tells of every execve from now on; the descriptor to hear of it, or -1. */
static int
be_watched(void)
{
	struct sock_filter calls[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, calls };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

/* Lets everything go on until nobody is left. */
static void
let_go_on(int listener)
{
	struct pollfd wait = { .fd = listener, .events = POLLIN };

	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
	    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	while (poll(&wait, 1, -1) == 1 && (wait.revents & POLLIN) != 0) {
		struct seccomp_notif notice = { .id = 0 };
		struct seccomp_notif_resp answer = {
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE
		};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0)
			continue;
		answer.id = notice.id;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* The child measures, and we watch it. */
static int
watch_bare(void)
{
	int number[2], theirs = -1, pidfd, listener;
	pid_t child;

	if (pipe2(number, O_CLOEXEC) != 0)
		return -1;
	child = fork();
	if (child == 0) {
		theirs = be_watched();
		return write(number[1], &theirs, sizeof(theirs)) ==
				   (ssize_t)sizeof(theirs) &&
			       theirs >= 0
			   ? 0
			   : -1;
	}
	if (child < 0 ||
	    read(number[0], &theirs, sizeof(theirs)) != (ssize_t)sizeof(theirs))
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	listener = (int)syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
	if (listener < 0) {
		(void)kill(child, SIGKILL);
		return -1;
	}
	let_go_on(listener);
	(void)waitpid(child, NULL, 0);
	exit(0);
}

int
main(int argc, char **argv)
{
	char flag[] = "-c", word[] = "one word more";
	char *words[] = { NULL, flag, word, NULL };
	bool bare = argc == 4 && strcmp(argv[3], "bare") == 0;
	long count = argc == 3 || bare ? strtol(argv[1], NULL, 10) : 0;

	if (count < 1 || count > COUNT_MAX || (bare && watch_bare() != 0))
		return 1;
	words[0] = argv[2];
	(void)printf("%lld %lld\n",
	    (long long)median(fail_once, words, (size_t)count),
	    (long long)median(start_once, words, (size_t)count));
	return 0;
}
