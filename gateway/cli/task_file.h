/*
 * task_file - a JSON file that says what a run is to do:
 * schema/task.schema.json.
 *
 * Each key is a field of task_field, read by the same function as the option
 * of that field, so that both mean the same; a few more describe what has no
 * option.  Everything that is wrong is told in one go, each with its place.
 */
#ifndef GATEWAY_CLI_TASK_FILE_H
#define GATEWAY_CLI_TASK_FILE_H

#include "schema/problem.h"

struct settings;
struct task;

/*
 * Reads task->file into task, after the template that it may name, and tells
 * what is wrong.  The task owns what is kept of both.
 */
void task_file_read(struct task *task, const struct settings *settings,
    struct problems *reterr);

#endif
