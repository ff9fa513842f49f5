/*
 * task_mount - what else of the machine a run sees, and where.
 *
 * Sources are found and checked when they are named: what holds a person's
 * credentials is not handed to a sandbox, and neither is a link, a device or
 * a socket.  Two mounts never have one target.
 */
#ifndef GATEWAY_CLI_TASK_MOUNT_H
#define GATEWAY_CLI_TASK_MOUNT_H

#include "schema/problem.h"

struct json_t;
struct report;
struct settings;
struct task;

/* SOURCE[:AT][:ro|:rw], as an option has it. */
int task_mount_take(struct task *task, const char *text, struct problem *reterr)
    MUST_CHECK;

/* The list under "mounts" of a task file at path; tells what is wrong. */
void task_mounts_read(struct task *task, struct json_t *root, const char *path,
    const struct report *report);

/* Whether what is at path may be shown to a sandbox: what is its name here. */
int task_mount_check(const char *path, const char *what,
    const struct settings *settings, struct problem *reterr) MUST_CHECK;

#endif
