/*
 * glob - a pattern over paths below a directory.
 *
 * "?" is one byte and "*" any number of them, within one part of a path; "**"
 * is a whole part and stands for any number of parts, none too.  A pattern
 * without a slash is held against the last part of a path, at any depth; one
 * with a slash against all of it.  Nothing else is special, and what other
 * tools give a meaning ("[", "{", "!", a backslash) is refused, so that no
 * pattern means less than its author thinks.
 *
 * Pure.
 */
#ifndef GATEWAY_FILES_GLOB_H
#define GATEWAY_FILES_GLOB_H

#include "schema/attr.h"

#include <stdbool.h>

/* NULL when pattern is one; else what is wrong with it, in words. */
const char *glob_fault(const char *pattern);

/* path is relative and plain: no leading slash, no empty part, no "..". */
bool glob_matches(const char *pattern, const char *path);

#endif
