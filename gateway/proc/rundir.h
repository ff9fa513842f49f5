/*
 * rundir - where a run that is under way is spoken to.
 *
 * A base folder of our account alone, in it one folder a run with a socket
 * and a lock.  A run is alive while its lock is held: the kernel drops it
 * with the process, however that ends, so no process number is ever taken
 * for a run.  What a killed run left is removed by whoever comes by next;
 * the base itself goes with the last run.
 *
 * Making, looking and removing hold the lock of the base, so that a folder
 * that is just being made is not taken for a dead one.
 */
#ifndef GATEWAY_PROC_RUNDIR_H
#define GATEWAY_PROC_RUNDIR_H

#include "schema/problem.h"

struct rundir;

/* Gives the folder of a new run, listening. */
int rundir_make(const char *base, const char *run, struct rundir **ret,
    struct problem *reterr) MUST_CHECK;

/* Removes it; NULL is fine. */
void rundir_remove(struct rundir *rundir);

/* The listening socket, non-blocking; borrows from rundir. */
int rundir_socket(const struct rundir *rundir);

/* Whether whoever is connected is of our account. */
bool rundir_is_ours(int socket);

/* Called for each run that is alive, by rising name. */
typedef void rundir_call(const char *run, void *arg);

/* A base that is not there has no runs. */
int rundir_each(const char *base, rundir_call *call, void *arg,
    struct problem *reterr) MUST_CHECK;

/* Gives a connection to one run; STATUS_NOT_FOUND when it is not alive. */
int rundir_connect(const char *base, const char *run, int *ret_fd,
    struct problem *reterr) MUST_CHECK;

#endif
