/*
 * shape - a path as a pattern that others like it match, too: "*" stands for
 * each segment that looks like an id.
 *
 * What is returned is the caller's to free(); NULL when there is no memory.
 */
#ifndef POLICY_SHAPE_H
#define POLICY_SHAPE_H

#include "policy/urlpath.h"

/*
 * A number, a hash, a UUID, or a long mix of letters and digits is an id.  Of
 * a path too long for a pattern the start, and "**".
 */
char *shape_of(const struct urlpath *path) MUST_CHECK;

/* "/a/b/c" to "/a/" and "**". */
char *shape_fold(const char *shape) MUST_CHECK;

#endif
