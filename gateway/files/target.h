/*
 * target - a place in a sandbox where something may be mounted.
 *
 * Asked of by whoever writes a plan and again by whoever carries it out.
 * Pure.
 */
#ifndef GATEWAY_FILES_TARGET_H
#define GATEWAY_FILES_TARGET_H

#include "schema/attr.h"

#include <stdbool.h>

/* Absolute, shorter than LIMIT_PATH, and no "", "." or ".." in it. */
bool target_is_plain(const char *path) MUST_CHECK;

/* What is wrong with the place, to stand behind its name; NULL: nothing. */
const char *target_fault(const char *at);

#endif
