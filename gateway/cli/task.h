/*
 * task - what one `exeat run` is to do: its options and its task file.
 *
 * Both write into the same fields (task_field); an option stands over what
 * the file says, and lists add up.  Reading opens nothing but the task file
 * and the folders that are named; starting is for others.  Text that was an
 * argument is borrowed from it.
 */
#ifndef GATEWAY_CLI_TASK_H
#define GATEWAY_CLI_TASK_H

#include "gateway/cli/abspath.h"
#include "gateway/cli/share.h"
#include "gateway/cli/variables.h"
#include "schema/event.h"
#include "schema/limits.h"
#include "schema/order.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct json_t;

struct task_mount {
	char *source, *at; /* absolute */
	bool writable;
};

/* What becomes of what the command writes into its workspace. */
/* A new, empty folder in memory. */
struct task_scratch {
	char *at;
	int64_t bytes;
};

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

/* Paths of a task file, made absolute: policies and six more. */
#define TASK_PATHS (LIMIT_LAYERS + 6)

struct task {
	char **command; /* ends with NULL */
	const char *policies[LIMIT_LAYERS];
	size_t policy_count;
	struct abspath workspace, cwd;
	const char *workspace_option, *cwd_option, *audit_option;
	const char *at; /* where the workspace is seen; NULL: at its path */
	enum event_sync audit_sync;
	char audit[ABSPATH_MAX];
	struct task_mount mounts[LIMIT_MOUNTS];
	size_t mount_count;
	struct task_scratch scratch[LIMIT_MOUNTS];
	size_t scratch_count;
	struct variables variables;
	const char *credentials; /* the file; it may not exist */
	const char *identity; /* of the credential file; or NULL */
	struct order_via via; /* without a host: nothing stands between */
	const char *agent, *session; /* what the audit is told, or NULL */
	const char *name; /* of the machine inside, or NULL */
	const char *result; /* file for the result, or NULL */
	int64_t wall_ms; /* 0: no limit */
	struct share share;
	bool proxy_env; /* programs are told of the gateway's proxy */
	bool no_nic; /* inside there is lo alone */
	bool observe; /* refuse nothing that a rule would */
	bool no_exec_record; /* programs are not written down */
	bool no_terminal; /* pipes, even where there is a terminal */
	bool nested; /* sandboxes may be made in the sandbox */
	bool no_ptrace; /* debuggers may not look into its processes */
	enum task_files files;
	const char *from, *snapshot; /* snapshots to begin from, and to make */
	enum task_apply apply;
	const char *hide[LIMIT_PATTERNS], *show[LIMIT_PATTERNS];
	size_t hide_count, show_count;
	bool quiet, help;
	/* The task file, and what only it owns. */
	const char *file;
	struct json_t *documents[2]; /* it, and its template */
	size_t document_count;
	char **file_command;
	char *paths[TASK_PATHS];
	size_t path_count;
};

/* Takes NULL in all its parts: one that is not read yet is all zeroes. */
void task_done(struct task *task);

/* Whether the sandbox could write there: its workspace and writable mounts. */
bool task_can_write(const struct task *task, const char *path);

/* Whether the sandbox could see what is there, or below it. */
bool task_shows(const struct task *task, const char *path);

#endif
