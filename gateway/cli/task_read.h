/*
 * task_read - a task, from the arguments of `exeat run` and the file they
 * name, and whether it can be carried out here.
 */
#ifndef GATEWAY_CLI_TASK_READ_H
#define GATEWAY_CLI_TASK_READ_H

#include "schema/problem.h"

struct settings;
struct task;

/*
 * Reads the arguments behind "run", and the task file they name, and tells
 * everything that is wrong.  With --help only task->help is told.
 * task_done() is due after success.
 */
int task_read(struct task *ret, int argc, char **argv,
    const struct settings *settings, struct problems *reterr) MUST_CHECK;

#endif
