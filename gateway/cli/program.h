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

/*
 * What a sibling finds in its environment: nothing of ours but the log level.
 * Borrows from the environment; at most the given number, NULL included.
 */
#define PROGRAM_ENVIRONMENT_MAX 2
struct program_environment {
	char log[32];
	const char *list[PROGRAM_ENVIRONMENT_MAX];
};
void program_environment(struct program_environment *ret);

#endif
