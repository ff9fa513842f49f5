/*
 * removed - what a run took away with a directory.
 *
 * To the sandbox it is one whiteout; outside, everything in the directory
 * would go.  So it is looked through: for what was changed since the run
 * began, and for what a person should be asked about.
 */
#ifndef GATEWAY_FILES_REMOVED_H
#define GATEWAY_FILES_REMOVED_H

#include "schema/attr.h"

struct change;
struct stack;

/* Sharpens the class of the change at path, a directory of the base. */
int removed_look(const struct stack *stack, const char *path,
    struct change *change) MUST_CHECK;

#endif
