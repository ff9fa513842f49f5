/*
 * sets - what @apt, @cargo, @go, @npm and @pip stand for on this machine.
 *
 * The hosts that the configuration of the system and of the user names, read
 * once outside the sandbox and never from the workspace.  Where a tool is not
 * configured, its own built-in choice is read from its installed files.
 */
#ifndef GATEWAY_CLI_SETS_H
#define GATEWAY_CLI_SETS_H

#include "gateway/cli/toolhosts.h"
#include "schema/problem.h"

/* Whether the sandbox could write there; path is absolute. */
typedef bool sets_writable(const char *path, const void *arg);

bool sets_is_known(const char *name);

/*
 * Gives the hosts of "@npm" and the like, sorted.  writable may be NULL; what
 * it holds for is not read.  A problem when there is no host at all.
 */
int sets_of(const char *name, sets_writable *writable, const void *arg,
    struct toolhosts *ret, struct problem *reterr) MUST_CHECK;

#endif
