/*
 * cmd_policy - exeat policy: check and explain, without a run.
 */
#ifndef GATEWAY_CLI_CMD_POLICY_H
#define GATEWAY_CLI_CMD_POLICY_H

#include "gateway/cli/command.h"

extern const struct command cmd_policy;

#endif
