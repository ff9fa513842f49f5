/*
 * cmd_replay - policy replay and policy suggest: policies and past rows.
 */
#ifndef GATEWAY_CLI_CMD_REPLAY_H
#define GATEWAY_CLI_CMD_REPLAY_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>

/* Which rows; a NULL stands for the usual database, or for every run. */
struct cmd_replay_from {
	const char *audit, *run;
	bool json;
};

/* What the policies would now answer otherwise; a command's exit status. */
int cmd_replay_run(
    const struct cmd_replay_from *from, char **files, size_t count) MUST_CHECK;

/* The smallest policy for what was allowed, or would have been. */
int cmd_replay_suggest(const struct cmd_replay_from *from) MUST_CHECK;

#endif
