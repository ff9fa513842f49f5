/*
 * needs - the credentials that the policies of a run name, each once.
 */
#ifndef GATEWAY_CLI_NEEDS_H
#define GATEWAY_CLI_NEEDS_H

#include "schema/attr.h"
#include "schema/limits.h"

#include <stddef.h>

struct policy;

struct needs {
	char (*names)[LIMIT_CREDENTIAL_NAME + 1]; /* LIMIT_CREDENTIALS */
	size_t count;
};

/* Adds those of one policy, or one.  STATUS_NO_MEMORY, STATUS_FULL. */
int needs_add(struct needs *needs, const struct policy *policy) MUST_CHECK;
int needs_add_name(struct needs *needs, const char *name) MUST_CHECK;
void needs_done(struct needs *needs);

#endif
