/*
 * cmd_policy - exeat policy: check and explain, without a run.
 */
#ifndef CLI_CMD_POLICY_H
#define CLI_CMD_POLICY_H

#include "gateway/cli/command.h"

extern const struct command cmd_policy;

#endif
