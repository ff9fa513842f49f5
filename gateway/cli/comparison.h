/*
 * comparison - what some policies allow that others do not, on stdout.
 */
#ifndef GATEWAY_CLI_COMPARISON_H
#define GATEWAY_CLI_COMPARISON_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>

/* The files of one side, all of which must allow. */
struct comparison_side {
	char **files;
	size_t count;
};

/*
 * Tells all that after allows and before does not.  Returns a command's exit
 * status: COMMAND_NO when there is anything, or a policy does not load.
 */
int comparison_run(const struct comparison_side *before,
    const struct comparison_side *after, bool json) MUST_CHECK;

#endif
