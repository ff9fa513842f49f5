/*
 * cmd_audit - exeat audit: what was written down, for people and programs.
 */
#ifndef GATEWAY_CLI_CMD_AUDIT_H
#define GATEWAY_CLI_CMD_AUDIT_H

#include "gateway/cli/command.h"

extern const struct command cmd_audit;

#endif
