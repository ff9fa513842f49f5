/*
 * task - what one `exeat run` is to do: its options, and the plan they make.
 *
 * Reading the options opens nothing but the folders they name; starting is
 * for others.  Text that was an argument is borrowed from it.
 */
#ifndef GATEWAY_CLI_TASK_H
#define GATEWAY_CLI_TASK_H

#include "gateway/cli/place.h"
#include "gateway/cli/share.h"
#include "gateway/cli/variables.h"
#include "schema/event.h"
#include "schema/limits.h"
#include "schema/order.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct box;
struct settings;

struct task_mount {
	char *source, *at; /* absolute */
	bool writable;
};

/* What becomes of what the command writes into its workspace. */
enum task_files {
	TASK_OVERLAY, /* it is kept apart, and applied at the end */
	TASK_DIRECT, /* it goes through at once */
	TASK_DISCARD, /* it is gone with the run */
	TASK_FILES_COUNT
};

/* What is applied at the end. */
enum task_apply {
	TASK_APPLY_SAFE,
	TASK_APPLY_ASK, /* the same, when a person agrees */
	TASK_APPLY_NEVER,
	TASK_APPLY_COUNT
};

struct task {
	char **command; /* ends with NULL */
	const char *policies[LIMIT_LAYERS];
	size_t policy_count;
	struct place workspace, cwd;
	const char *workspace_option, *audit_option;
	enum event_sync audit_sync;
	char audit[PLACE_PATH_MAX];
	struct task_mount mounts[LIMIT_MOUNTS];
	size_t mount_count;
	struct variables variables;
	const char *credentials; /* the file; it may not exist */
	const char *identity; /* or NULL */
	struct order_via via; /* without a host: nothing stands between */
	const char *result; /* file for the result, or NULL */
	int64_t wall_ms; /* 0: no limit */
	struct share share;
	bool proxy_env; /* programs are told of the gateway's proxy */
	bool observe; /* refuse nothing that a rule would */
	bool no_exec_record; /* programs are not written down */
	enum task_files files;
	const char *from, *snapshot; /* snapshots to begin from, and to make */
	enum task_apply apply;
	const char *hide[LIMIT_PATTERNS], *show[LIMIT_PATTERNS];
	size_t hide_count, show_count;
	bool quiet, help;
};

/*
 * Reads the arguments behind "run".  With --help only task->help is told.
 * task_done() is due after success.
 */
int task_read(struct task *ret, int argc, char **argv,
    const struct settings *settings, struct problem *reterr) MUST_CHECK;
void task_done(struct task *task);

/* Whether the sandbox could write there: its workspace and writable mounts. */
bool task_can_write(const struct task *task, const char *path);

/* Whether the sandbox could see what is there, or below it. */
bool task_shows(const struct task *task, const char *path);

/*
 * Gives the plan for exeat-launch as JSON text, to be freed; a problem when
 * something in it is not UTF-8.  box is NULL when writes go through.
 */
int task_plan(const struct task *task, const char *run, const struct box *box,
    char **ret, struct problem *reterr) MUST_CHECK;

#endif
