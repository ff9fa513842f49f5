/*
 * bench_execs - what one execve costs whoever calls it.
 *
 *	bench_execs COUNT PROGRAM
 *
 * Prints two medians in nanoseconds: of calls that fail at once, which is all
 * of the way to the kernel and what watches it, and of PROGRAM started and
 * waited for.
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MAX 100000

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

int
main(int argc, char **argv)
{
	char flag[] = "-c", word[] = "one word more";
	char *words[] = { NULL, flag, word, NULL };
	long count = argc == 3 ? strtol(argv[1], NULL, 10) : 0;

	if (count < 1 || count > COUNT_MAX)
		return 1;
	words[0] = argv[2];
	(void)printf("%lld %lld\n",
	    (long long)median(fail_once, words, (size_t)count),
	    (long long)median(start_once, words, (size_t)count));
	return 0;
}
