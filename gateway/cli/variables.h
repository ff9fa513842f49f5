/*
 * variables - the environment of a sandboxed command, built from nothing.
 *
 * It holds what the user named, and LANG, TERM and TZ of the caller; the
 * launcher adds what belongs to the sandbox.  A variable named without a value
 * takes the caller's, unless its name looks like a credential or changes what
 * programs load: those must be written out, so that nothing secret slips in
 * by name.
 */
#ifndef GATEWAY_CLI_VARIABLES_H
#define GATEWAY_CLI_VARIABLES_H

#include "schema/limits.h"
#include "schema/problem.h"

#include <stddef.h>

struct variable {
	char *name, *value;
};

/* An empty one is all zeroes. */
struct variables {
	struct variable list[LIMIT_VARIABLES];
	size_t count;
	size_t bytes; /* at most, as a process is handed them */
};

void variables_done(struct variables *variables);

/* NAME=VALUE, or NAME with the caller's value; the last one stands. */
int variables_add(struct variables *variables, const char *text,
    struct problem *reterr) MUST_CHECK;

/* NAME with the caller's value, or NAME with this one. */
int variables_pass(struct variables *variables, const char *name,
    struct problem *reterr) MUST_CHECK;
int variables_set(struct variables *variables, const char *name,
    const char *value, struct problem *reterr) MUST_CHECK;

/* What every command gets of the caller's, where the user named none. */
int variables_add_defaults(struct variables *variables, struct problem *reterr)
    MUST_CHECK;

#endif
