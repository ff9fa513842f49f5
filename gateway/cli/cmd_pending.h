/*
 * cmd_pending - exeat pending, approve and refuse: what runs ask, answered.
 */
#ifndef GATEWAY_CLI_CMD_PENDING_H
#define GATEWAY_CLI_CMD_PENDING_H

#include "gateway/cli/command.h"

extern const struct command cmd_pending;
extern const struct command cmd_approve;
extern const struct command cmd_refuse;

#endif
