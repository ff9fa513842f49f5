/*
 * task_options - the arguments of `exeat run`, taken into a task.
 */
#ifndef GATEWAY_CLI_TASK_OPTIONS_H
#define GATEWAY_CLI_TASK_OPTIONS_H

#include "schema/problem.h"

struct task;

/* The value of --task, which is read before any other option; NULL: none. */
const char *task_options_file(int argc, char **argv);

/*
 * Takes every option into its field, and what stands behind them as the
 * command.  Every wrong value is told; reading stops at --help, and where
 * it is not clear any more what is an option.
 */
void task_options_read(
    struct task *task, int argc, char **argv, struct problems *reterr);

#endif
