/*
 * task_plan - a task as the launcher is told it: a plan, which is JSON.
 */
#ifndef GATEWAY_CLI_TASK_PLAN_H
#define GATEWAY_CLI_TASK_PLAN_H

#include "schema/problem.h"

struct box;
struct task;

/*
 * Gives the plan for exeat-launch as JSON text, to be freed; a problem when
 * something in it is not UTF-8.  box is NULL when writes go through.
 */
int task_plan_make(const struct task *task, const char *run,
    const struct box *box, char **ret, struct problem *reterr) MUST_CHECK;

#endif
