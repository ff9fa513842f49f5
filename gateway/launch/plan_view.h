/*
 * plan_view - what of the machine a plan shows, and where: workspace, mounts,
 * and the files of them that are hidden.
 *
 * Part of plan_parse(); what was read before a failure is the plan's too, and
 * plan_done() frees it.  Pure but for memory.
 */
#ifndef GATEWAY_LAUNCH_PLAN_VIEW_H
#define GATEWAY_LAUNCH_PLAN_VIEW_H

#include "schema/problem.h"

struct json_t;
struct plan;

int plan_read_mounts(
    struct json_t *root, struct plan *plan, struct problem *reterr) MUST_CHECK;
int plan_read_scratch(
    struct json_t *root, struct plan *plan, struct problem *reterr) MUST_CHECK;
int plan_read_secrets(
    struct json_t *root, struct plan *plan, struct problem *reterr) MUST_CHECK;

#endif
