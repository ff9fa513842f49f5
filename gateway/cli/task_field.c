#include "gateway/cli/task_field.h"

#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/cli/task_mount.h"
#include "gateway/cli/uplink.h"
#include "gateway/files/glob.h"
#include "gateway/files/target.h"
#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- texts that are kept as they are ---- */

enum text {
	TEXT_WORKSPACE,

	TEXT_CWD,
	TEXT_AUDIT,
	TEXT_CREDENTIALS,
	TEXT_RESULT,
	TEXT_FROM,
	TEXT_SNAPSHOT,
	TEXT_FILE
};

static int
set_text(struct task *task, int what, const char *value, struct problem *reterr)
{
	const char **const places[] = {
		[TEXT_WORKSPACE] = &task->workspace_option,
		[TEXT_CWD] = &task->cwd_option,
		[TEXT_AUDIT] = &task->audit_option,
		[TEXT_CREDENTIALS] = &task->credentials,
		[TEXT_RESULT] = &task->result,
		[TEXT_FROM] = &task->from,
		[TEXT_SNAPSHOT] = &task->snapshot,
		[TEXT_FILE] = &task->file,
	};

	(void)reterr;
	*places[what] = value;
	return STATUS_OK;
}

static int
set_identity(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	if (value[0] == '\0' || strlen(value) > LIMIT_CREDENTIAL_NAME)
		return problem_set(reterr, "\"%.100s\" is no name", value);
	task->identity = value;
	return STATUS_OK;
}

static int
set_at(struct task *task, int what, const char *value, struct problem *reterr)
{
	const char *fault = target_fault(value);

	(void)what;
	if (fault != NULL)
		return problem_set(
		    reterr, "%.200s %s (mount.target)", value, fault);
	task->at = value;
	return STATUS_OK;
}

/* Labels: they stand in rows, and one is the name of a machine. */
enum label {
	LABEL_NAME,
	LABEL_AGENT,
	LABEL_SESSION
};

static bool
is_label(const char *text)
{
	size_t length = strlen(text);

	return length >= 1 && length <= LIMIT_LABEL && text[0] != '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static int
set_label(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	const char **const places[] = {
		[LABEL_NAME] = &task->name,
		[LABEL_AGENT] = &task->agent,
		[LABEL_SESSION] = &task->session,
	};

	if (!is_label(value)) {
		(void)problem_set(reterr, "\"%.80s\" is no name", value);
		return problem_cure(reterr,
		    "use small letters, digits and dashes, %d at most",
		    LIMIT_LABEL);
	}
	*places[what] = value;
	return STATUS_OK;
}

/* ---- words ---- */

static int
find_word(const char *value, const char *const *words, size_t count,
    size_t *ret, struct problem *reterr)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(value, words[i]) == 0) {
			*ret = i;
			return STATUS_OK;
		}
	(void)problem_set(
	    reterr, "\"%.40s\" is none of the words for it", value);
	return problem_cure(
	    reterr, "write %s, %s or %s", words[0], words[1], words[2]);
}

/* What a task says so that nobody takes it for granted: there is one way. */
enum only {
	ONLY_LIVE,
	ONLY_TRANSPARENT,
	ONLY_FULL,
	ONLY_SYNTHETIC
};

static int
check_only(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	static const char *const words[] = { [ONLY_LIVE] = "live",
		[ONLY_TRANSPARENT] = "transparent",
		[ONLY_FULL] = "full",
		[ONLY_SYNTHETIC] = "synthetic" };

	(void)task;
	if (strcmp(value, words[what]) == 0)
		return STATUS_OK;
	(void)problem_set(reterr, "\"%.40s\" cannot be carried out", value);
	return problem_cure(
	    reterr, "write \"%s\", which is how it is", words[what]);
}

static int
set_audit_sync(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	static const char *const words[] = { "auto", "full", "normal" };

	(void)what;
	for (int sync = 0; sync < EVENT_SYNC_COUNT; sync++)
		if (strcmp(value, event_sync_name((enum event_sync)sync)) ==
		    0) {
			task->audit_sync = (enum event_sync)sync;
			return STATUS_OK;
		}
	return find_word(value, words, 0, NULL, reterr);
}

static int
set_files(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	static const char *const words[] = { [TASK_OVERLAY] = "overlay",
		[TASK_DIRECT] = "direct",
		[TASK_DISCARD] = "discard" };
	size_t which = 0;
	int status = find_word(value, words, TASK_FILES_COUNT, &which, reterr);

	static_assert(COUNT(words) == TASK_FILES_COUNT, "every way has a word");
	(void)what;
	if (status == STATUS_OK)
		task->files = (enum task_files)which;
	return status;
}

static int
set_apply(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	static const char *const words[] = { [TASK_APPLY_SAFE] = "safe",
		[TASK_APPLY_ASK] = "ask",
		[TASK_APPLY_NEVER] = "never" };
	size_t which = 0;
	int status = find_word(value, words, TASK_APPLY_COUNT, &which, reterr);

	static_assert(COUNT(words) == TASK_APPLY_COUNT, "every way has a word");
	(void)what;
	if (status == STATUS_OK)
		task->apply = (enum task_apply)which;
	return status;
}

/* ---- on or off ---- */

enum flag {
	FLAG_BEST_EFFORT,
	FLAG_NO_EXEC_RECORD,
	FLAG_NO_TERMINAL,
	FLAG_NO_NIC,
	FLAG_NO_PTRACE,
	FLAG_NESTED,
	FLAG_PROXY_ENV,
	FLAG_OBSERVE,
	FLAG_QUIET,
	FLAG_HELP
};

static int
set_flag(struct task *task, int what, const char *value, struct problem *reterr)
{
	bool *const places[] = {
		[FLAG_BEST_EFFORT] = &task->share.best_effort,
		[FLAG_NO_EXEC_RECORD] = &task->no_exec_record,
		[FLAG_NO_TERMINAL] = &task->no_terminal,
		[FLAG_NO_NIC] = &task->no_nic,
		[FLAG_NO_PTRACE] = &task->no_ptrace,
		[FLAG_NESTED] = &task->nested,
		[FLAG_PROXY_ENV] = &task->proxy_env,
		[FLAG_OBSERVE] = &task->observe,
		[FLAG_QUIET] = &task->quiet,
		[FLAG_HELP] = &task->help,
	};

	(void)reterr;
	*places[what] = strcmp(value, "true") == 0;
	return STATUS_OK;
}

/* ---- lists ---- */

static int
add_policy(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	if (task->policy_count >= LIMIT_LAYERS - SETTINGS_CEILINGS)
		return problem_set(reterr, "more than %d policies are named",
		    LIMIT_LAYERS - SETTINGS_CEILINGS);
	task->policies[task->policy_count++] = value;
	return STATUS_OK;
}

enum patterns {
	PATTERNS_HIDE,
	PATTERNS_SHOW
};

static int
add_pattern(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	const char **list = what == PATTERNS_HIDE ? task->hide : task->show;
	size_t *count =
	    what == PATTERNS_HIDE ? &task->hide_count : &task->show_count;
	const char *fault = glob_fault(value);

	if (fault != NULL) {
		(void)problem_set(reterr, "%.80s %s", value, fault);
		return problem_cure(reterr,
		    "write a path below the workspace, with ?, * and ** in "
		    "it");
	}
	if (*count >= LIMIT_PATTERNS)
		return problem_set(
		    reterr, "more than %d patterns are named", LIMIT_PATTERNS);
	list[(*count)++] = value;
	return STATUS_OK;
}

static int
add_variable(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	return variables_add(&task->variables, value, reterr);
}

/* In a file only names stand here: values are for "set". */
static int
pass_variable(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	return variables_pass(&task->variables, value, reterr);
}

/* ---- mounts ---- */

static int
add_mount(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	return task_mount_take(task, value, reterr);
}

/* ---- the house's own proxy ---- */

static int
set_via(struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	return uplink_read(value, &task->via, reterr);
}

static int
set_via_login(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	return uplink_log_in(value, &task->via, reterr);
}

/* ---- how long, how much ---- */

static int
set_timeout(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	if (share_time(value, &task->wall_ms))
		return STATUS_OK;
	(void)problem_set(reterr, "%.40s is not a time", value);
	return problem_cure(reterr, "write 90s, 30m or 2h, at most a year");
}

static int
set_limit(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	return share_set(&task->share, (enum share_limit)what, value, reterr);
}

static int
take_limit(
    struct task *task, int what, const char *value, struct problem *reterr)
{
	(void)what;
	return share_take(&task->share, value, reterr);
}

/* ---- the table ---- */

static const struct task_field fields[] = {
	{ "--task", NULL, NULL, TASK_TEXT, set_text, TEXT_FILE, false },
	{ "--policy", NULL, "policy", TASK_POLICIES, add_policy, 0, false },
	{ "--workspace", "workspace", "path", TASK_PATH, set_text,
	    TEXT_WORKSPACE, false },
	{ NULL, "workspace", "at", TASK_TEXT, set_at, 0, false },
	{ NULL, "workspace", "base", TASK_TEXT, check_only, ONLY_LIVE, false },
	{ NULL, "network", "mode", TASK_TEXT, check_only, ONLY_TRANSPARENT,
	    false },
	{ NULL, "isolation", "mode", TASK_TEXT, check_only, ONLY_FULL, false },
	{ NULL, "isolation", "etc", TASK_TEXT, check_only, ONLY_SYNTHETIC,
	    false },
	{ "--files", "workspace", "mode", TASK_TEXT, set_files, 0, false },
	{ NULL, NULL, "cwd", TASK_TEXT, set_text, TEXT_CWD, false },
	{ NULL, NULL, "name", TASK_TEXT, set_label, LABEL_NAME, false },
	{ "--identity", "identity", "name", TASK_TEXT, set_identity, 0, false },
	{ NULL, "identity", "agent", TASK_TEXT, set_label, LABEL_AGENT, false },
	{ NULL, "identity", "session", TASK_TEXT, set_label, LABEL_SESSION,
	    false },
	{ "--mount", NULL, NULL, TASK_TEXTS, add_mount, 0, false },
	{ "--env", NULL, NULL, TASK_TEXTS, add_variable, 0, false },
	{ NULL, "env", "pass", TASK_TEXTS, pass_variable, 0, false },
	{ "--credentials", NULL, "credentials", TASK_PATH, set_text,
	    TEXT_CREDENTIALS, false },
	{ "--audit", "audit", "database", TASK_PATH, set_text, TEXT_AUDIT,
	    false },
	{ "--audit-sync", "audit", "sync", TASK_TEXT, set_audit_sync, 0,
	    false },
	{ "--result", NULL, "result", TASK_PATH, set_text, TEXT_RESULT, false },
	{ "--apply", "collect", "apply", TASK_TEXT, set_apply, 0, false },
	{ "--from", NULL, "from_snapshot", TASK_TEXT, set_text, TEXT_FROM,
	    false },
	{ "--snapshot", "on_end", "snapshot", TASK_TEXT, set_text,
	    TEXT_SNAPSHOT, false },
	{ "--hide", "secrets", "mask", TASK_TEXTS, add_pattern, PATTERNS_HIDE,
	    false },
	{ "--show", "secrets", "show", TASK_TEXTS, add_pattern, PATTERNS_SHOW,
	    false },
	{ "--timeout", "timeout", "wall", TASK_TEXT, set_timeout, 0, false },
	{ NULL, "timeout", "idle", TASK_TEXT, set_limit, SHARE_IDLE, false },
	{ NULL, "timeout", "grace", TASK_TEXT, set_limit, SHARE_GRACE, false },
	{ "--limit", NULL, NULL, TASK_TEXTS, take_limit, 0, false },
	{ NULL, "limits", "memory", TASK_TEXT, set_limit, SHARE_MEMORY, false },
	{ NULL, "limits", "cpu", TASK_NUMBER, set_limit, SHARE_CPU, false },
	{ NULL, "limits", "pids", TASK_NUMBER, set_limit, SHARE_PIDS, false },
	{ NULL, "limits", "open_files", TASK_NUMBER, set_limit,
	    SHARE_OPEN_FILES, false },
	{ NULL, "limits", "file_bytes", TASK_TEXT, set_limit, SHARE_FILE_SIZE,
	    false },
	{ NULL, "limits", "workspace_bytes", TASK_TEXT, set_limit,
	    SHARE_WORKSPACE, false },
	{ NULL, "limits", "tmp_bytes", TASK_TEXT, set_limit, SHARE_TMP, false },
	{ "--best-effort", "limits", "best_effort", TASK_FLAG, set_flag,
	    FLAG_BEST_EFFORT, false },
	{ "--no-exec-record", "record", "exec", TASK_FLAG, set_flag,
	    FLAG_NO_EXEC_RECORD, true },
	{ NULL, NULL, "terminal", TASK_FLAG, set_flag, FLAG_NO_TERMINAL, true },
	{ NULL, "network", "nic", TASK_FLAG, set_flag, FLAG_NO_NIC, true },
	{ "--proxy-env", "network", "proxy_env", TASK_FLAG, set_flag,
	    FLAG_PROXY_ENV, false },
	{ "--via", "network", "via", TASK_TEXT, set_via, 0, false },
	{ "--via-credential", "network", "via_credential", TASK_TEXT,
	    set_via_login, 0, false },
	{ "--nested", "isolation", "nested", TASK_FLAG, set_flag, FLAG_NESTED,
	    false },
	{ "--no-ptrace", "isolation", "ptrace", TASK_FLAG, set_flag,
	    FLAG_NO_PTRACE, true },
	{ "--observe", NULL, "observe", TASK_FLAG, set_flag, FLAG_OBSERVE,
	    false },
	{ "--quiet", NULL, NULL, TASK_FLAG, set_flag, FLAG_QUIET, false },
	{ "--help", NULL, NULL, TASK_FLAG, set_flag, FLAG_HELP, false },
	{ "-h", NULL, NULL, TASK_FLAG, set_flag, FLAG_HELP, false },
};

const struct task_field *
task_fields(size_t *ret_count)
{
	*ret_count = COUNT(fields);
	return fields;
}
