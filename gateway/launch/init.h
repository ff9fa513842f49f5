/*
 * init - process 1 of the sandbox: it reaps, forwards signals, carries the
 * command's end outside, and takes everything with it when it goes.
 *
 * It is this program executed anew, so that nothing of the launcher's memory
 * and arguments is in the sandbox, and it cannot be looked into by the others
 * there.  It ends with the launcher: by the kernel's parent-death signal, and
 * because its socket ends.
 */
#ifndef GATEWAY_LAUNCH_INIT_H
#define GATEWAY_LAUNCH_INIT_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <sys/types.h>

/* True for an argument vector that init_become() has made. */
bool init_is_wanted(int argc, char **argv);

/* Returns the exit code, when the command has ended or nobody listens. */
int init_run(char **argv);

/*
 * Executes program (an open file) as init of the command, a child that waits
 * for a byte from gate.  Returns only when that failed.
 */
int init_become(int program, int control, int gate, pid_t command,
    struct problem *reterr) MUST_CHECK;

/*
 * Dies when the process that made us dies.  STATUS_CLOSED when it is gone
 * already: the other end of control is closed then.
 */
int init_follow(int control) MUST_CHECK;

#endif
