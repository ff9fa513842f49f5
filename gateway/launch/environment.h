/*
 * environment - the sandboxed program's variables, built from nothing.
 *
 * What the plan names, then what it did not: a user, a home, a path, and
 * where the trust bundle is for every program that wants to be told.
 * Variables of proxies never pass: everything is caught anyway, and a program
 * that is told of a proxy resolves no name itself.  A plan may want programs
 * to be told of the gateway's own, at exeat.internal:3128.
 */
#ifndef GATEWAY_LAUNCH_ENVIRONMENT_H
#define GATEWAY_LAUNCH_ENVIRONMENT_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>

struct plan;

struct environment {
	char **list; /* for execve */
};

/* STATUS_NO_MEMORY, or STATUS_OK. */
int environment_build(const struct plan *plan, struct environment *ret)
    MUST_CHECK;
void environment_done(struct environment *environment);

/* What is set unless the plan sets it, by its place; false behind the last. */
bool environment_default(
    size_t place, const char **ret_name, const char **ret_value);

/* The value of a variable, or NULL; borrows from environment. */
const char *environment_get(
    const struct environment *environment, const char *name);

#endif
