/*
 * casefile - the questions of a file put to policies, as `policy test` does.
 */
#ifndef GATEWAY_CLI_CASEFILE_H
#define GATEWAY_CLI_CASEFILE_H

#include "schema/attr.h"

#include <stddef.h>

/*
 * Tells each line whose answer is not the expected one, and how many there
 * were.  Returns a command's exit status: COMMAND_NO when a line is wrong or
 * broken, when there is no question at all, and when a policy does not load.
 */
int casefile_run(char **policies, size_t count, const char *path) MUST_CHECK;

#endif
