/*
 * plan - everything a launch will do, checked before anything is done: see
 * plan_parse.  What was not named has the default that stands here, and never
 * something wider.
 */
#ifndef GATEWAY_LAUNCH_PLAN_H
#define GATEWAY_LAUNCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_PIDS 512
#define PLAN_OPEN_FILES 4096
#define PLAN_TMP_BYTES 1073741824 /* 1 GiB */

struct json_t;

struct plan_mount {
	const char *source, *at;
	bool writable;
};

/* A new, empty folder in memory. */
struct plan_scratch {
	const char *at;
	uint64_t bytes;
};

struct plan_variable {
	const char *name, *value;
};

struct plan_patterns {
	const char **list;
	size_t count;
};

/* Those that were asked for; 0 is none. */
struct plan_limits {
	uint64_t memory; /* bytes */
	uint64_t cpu_thousandths; /* of a processor */
	uint64_t file_bytes; /* of one file */
	uint64_t workspace_bytes; /* that an overlay takes */
	bool best_effort; /* what cannot be kept is told, and no error */
};

/* Everything is borrowed from document, which the plan owns. */
struct plan {
	struct json_t *document;
	const char *run, *cwd, *hostname, *user;
	const char **command; /* ends in NULL; at least one */
	struct plan_variable *env;
	size_t env_count;
	/* The workspace first, if there is one, then the others. */
	struct plan_mount *mounts;
	size_t mount_count;
	bool has_workspace;
	struct plan_scratch *scratch;
	size_t scratch_count;
	/*
	 * An overlay's folders: first the one that takes what is written,
	 * then sealed layers, the topmost first.  None: writes go through.
	 */
	struct plan_mount *folders;
	size_t folder_count;
	/* Files of the workspace to hide, and not to hide: files/glob. */
	struct plan_patterns mask, show;
	uint64_t pids, open_files, tmp_bytes;
	struct plan_limits limits;
	int64_t wall_ms, idle_ms; /* 0: no limit */
	int64_t grace_ms; /* from SIGTERM to the end of all */
	bool terminal; /* one that takes every key, when there is one */
	bool record_exec; /* every program that is executed is a row */
	bool nic, nested, ptrace;
	bool proxy; /* programs are told of the gateway's own proxy */
};

void plan_done(struct plan *plan);

#endif
