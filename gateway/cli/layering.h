/*
 * layering - policy files as the layers of one question.
 *
 * What a file has wrong with it is told on stdout, as `exeat policy check`
 * tells it.
 */
#ifndef GATEWAY_CLI_LAYERING_H
#define GATEWAY_CLI_LAYERING_H

#include "schema/attr.h"
#include "schema/limits.h"
#include "schema/problem.h"

#include <stdbool.h>

struct policy;
struct stack;

struct layering {
	const struct policy *policies[LIMIT_LAYERS];
	const char *files[LIMIT_LAYERS];
	size_t count;
	struct stack *stack;
};

/* False when a file has problems, which are told; borrows the names. */
bool layering_load(struct layering *ret, char **files, size_t count) MUST_CHECK;
void layering_done(struct layering *layering);

/* "FILE:3:16: what is wrong", and what to write instead below it. */
void layering_print_problems(const char *file, const struct problems *problems);

#endif
