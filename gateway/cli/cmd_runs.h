/*
 * cmd_runs - ps, exec, stop, pause, resume: the runs of this account that are
 * under way.
 */
#ifndef GATEWAY_CLI_CMD_RUNS_H
#define GATEWAY_CLI_CMD_RUNS_H

#include "gateway/cli/command.h"

extern const struct command cmd_ps, cmd_exec, cmd_stop, cmd_pause, cmd_resume;

#endif
