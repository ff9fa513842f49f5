/*
 * cmd_files - exeat diff, apply, discard, snapshot: what a run wrote, once it
 * is over.
 */
#ifndef GATEWAY_CLI_CMD_FILES_H
#define GATEWAY_CLI_CMD_FILES_H

#include "gateway/cli/command.h"

extern const struct command cmd_diff, cmd_apply, cmd_discard, cmd_snapshot;

#endif
