/*
 * cmd_version - exeat version: which build this is, with which libraries.
 */
#ifndef GATEWAY_CLI_CMD_VERSION_H
#define GATEWAY_CLI_CMD_VERSION_H

#include "gateway/cli/command.h"

extern const struct command cmd_version;

#endif
