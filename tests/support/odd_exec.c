/*
 * odd_exec - calls execve in ways that a record of programs must cope with.
 *
 *	odd_exec HOW PROGRAM [WORD...]
 *
 * HOW is edge (all that the call reads ends where a mapping does), sealed
 * (nobody may look into the caller), descriptor (by an open file and no
 * path), thread (not the first of its process calls) or changing (others
 * change the words all the while).
 */
#include "schema/attr.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHANGERS 8

static char *environment[] = { NULL };

/* The last bytes of a page behind which there is none. */
static void *
at_the_edge(const void *bytes, size_t length)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || length > page ||
	    munmap(pages + page, page) != 0)
		_exit(1);
	memcpy(pages + page - length, bytes, length);
	return pages + page - length;
}

static void
by_edge(char **argv)
{
	char *words[64];
	size_t count = 0;

	for (; argv[count] != NULL && count < 63; count++)
		words[count] =
		    at_the_edge(argv[count], strlen(argv[count]) + 1);
	words[count] = NULL;
	(void)execve(at_the_edge(argv[0], strlen(argv[0]) + 1),
	    at_the_edge(words, (count + 1) * sizeof(words[0])), environment);
}

static void
by_sealed(char **argv)
{
	if (prctl(PR_SET_DUMPABLE, 0) == 0)
		(void)execve(argv[0], argv, environment);
}

static void
by_descriptor(char **argv)
{
	int fd = open(argv[0], O_PATH | O_CLOEXEC);

	if (fd >= 0)
		(void)execveat(fd, "", argv, environment, AT_EMPTY_PATH);
}

static void *
execute(void *argv)
{
	char **words = argv;

	(void)execve(words[0], words, environment);
	return NULL;
}

static void
by_thread(char **argv)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, execute, argv) == 0)
		(void)pthread_join(thread, NULL);
}

static void *
change(void *word)
{
	volatile char *letter = word;

	for (;;)
		letter[0] = letter[0] == '1' ? '2' : '1';
	return NULL;
}

/* The last word is what changes. */
static void
by_changing(char **argv)
{
	pthread_t thread;
	size_t last = 0;

	while (argv[last + 1] != NULL)
		last++;
	for (int i = 0; i < CHANGERS; i++)
		if (pthread_create(&thread, NULL, change, argv[last]) != 0)
			return;
	(void)execve(argv[0], argv, environment);
}

static const struct {
	const char *name;
	void (*call)(char **argv);
} ways[] = {
	{ "edge", by_edge },
	{ "sealed", by_sealed },
	{ "descriptor", by_descriptor },
	{ "thread", by_thread },
	{ "changing", by_changing },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].call(argv + 2);
	perror("odd_exec");
	return 1;
}
