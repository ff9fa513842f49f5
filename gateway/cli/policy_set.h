/*
 * policy_set - exeat policy set: another policy for a run under way.
 *
 * The files are read and checked here, as at a start, and go to the run as
 * sealed texts.  What the run's sandbox could write is refused: the run says
 * which places those are.
 */
#ifndef GATEWAY_CLI_POLICY_SET_H
#define GATEWAY_CLI_POLICY_SET_H

#include <stddef.h>

/* The policies of files for the run of that name; an exit status. */
int policy_set(const char *run, char *const *files, size_t count);

#endif
