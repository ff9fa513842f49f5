/*
 * spawn - start a sibling with exactly these descriptors and this environment.
 *
 * The child's descriptor i is fds[i]; everything else is closed in it.  It is
 * named by a pidfd from birth, never by number alone.  Signals are unblocked
 * and back at their defaults in the child.
 */
#ifndef GATEWAY_PROC_SPAWN_H
#define GATEWAY_PROC_SPAWN_H

#include "schema/problem.h"

#include <stdbool.h>
#include <sys/types.h>

#define SPAWN_FDS_MAX 8

struct spawn {
	const char *path; /* absolute; nothing is searched */
	const char *const *argv;
	const char *const *envp;
	int fds[SPAWN_FDS_MAX]; /* -1: that descriptor is closed */
	size_t count;
	/* The child gets SIGKILL when the thread that started it ends. */
	bool dies_with_parent;
	/* A process group and a session of its own: no signal of a terminal. */
	bool own_session;
};

struct spawned {
	pid_t pid;
	int pidfd;
};

/* A failed exec is told here, not by an exit code. */
int spawn_start(const struct spawn *spawn, struct spawned *ret,
    struct problem *reterr) MUST_CHECK;

/*
 * Reaps the child if it has ended; *ret_status is as waitpid() has it.
 * False while it runs.
 */
bool spawn_reap(struct spawned *spawned, int *ret_status);

/* Waits at most timeout_ms for its end; false when it still runs. */
bool spawn_wait(struct spawned *spawned, int timeout_ms, int *ret_status);

/* STATUS_SYSTEM when it has ended already. */
int spawn_kill(const struct spawned *spawned, int number);

/* Closes the pidfd; the process is left alone. */
void spawned_done(struct spawned *spawned);

#endif
