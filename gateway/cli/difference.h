/*
 * difference - changes of a run, printed.
 *
 * As text for patch(1), with one line of words before each file; to a
 * terminal what the sandbox wrote is made visible first.  As a list, or as
 * JSON, only what changed and which class it is.
 */
#ifndef GATEWAY_CLI_DIFFERENCE_H
#define GATEWAY_CLI_DIFFERENCE_H

#include "schema/attr.h"

#include <stdio.h>

struct changes;
struct stack;

/* STATUS_NO_MEMORY when there is none. */
int difference_print(FILE *out, const struct stack *stack,
    const struct changes *changes) MUST_CHECK;

void difference_list(FILE *out, const struct changes *changes);

/* An array of objects on stdout. */
int difference_json(const struct changes *changes) MUST_CHECK;

#endif
