/*
 * plan_parse - a plan from its JSON.
 *
 * Strict: an unknown key, a second one of the same name, a wrong type, a
 * number out of range, a path that is not absolute and plain are all refused,
 * with the JSON path of the place.  Pure but for memory.
 */
#ifndef GATEWAY_LAUNCH_PLAN_PARSE_H
#define GATEWAY_LAUNCH_PLAN_PARSE_H

#include "schema/problem.h"

#include <stddef.h>

struct plan;

/* Gives a plan, for plan_done(). */
int plan_parse(const void *text, size_t length, struct plan *ret,
    struct problem *reterr) MUST_CHECK;

#endif
