/*
 * cmd_credential - exeat credential check, revoke.
 */
#ifndef GATEWAY_CLI_CMD_CREDENTIAL_H
#define GATEWAY_CLI_CMD_CREDENTIAL_H

#include "gateway/cli/command.h"

extern const struct command cmd_credential;

#endif
