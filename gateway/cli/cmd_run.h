/*
 * cmd_run - exeat run: a command in a sandbox, behind its gateway.
 */
#ifndef GATEWAY_CLI_CMD_RUN_H
#define GATEWAY_CLI_CMD_RUN_H

#include "gateway/cli/command.h"

extern const struct command cmd_run;

#endif
