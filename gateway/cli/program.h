/*
 * program - where the other programs of Exeat are.
 *
 * They lie beside the running exeat, or in the libexec folder it was built
 * for, and are looked for nowhere else: no search path, no variable, no
 * working directory can put another program in their place.
 */
#ifndef GATEWAY_CLI_PROGRAM_H
#define GATEWAY_CLI_PROGRAM_H

#include "schema/problem.h"

#define PROGRAM_PATH_MAX 4096

struct program {
	char path[PROGRAM_PATH_MAX]; /* absolute */
};

int program_find(const char *name, struct program *ret, struct problem *reterr)
    MUST_CHECK;

/* A sibling finds nothing in its environment. */
extern const char *const program_environment[];

/*
 * The level that EXEAT_LOG asks our data plane to tell at; NULL when it asks
 * for none, or for one that there is not.
 */
const char *program_log_level(void);

#endif
