#include "gateway/cli/task.h"

#include "gateway/cli/program.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/uplink.h"
#include "gateway/files/box.h"
#include "gateway/files/glob.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_VERSION 1

static int
take_policy(struct task *task, const char *value, struct problem *reterr)
{
	if (task->policy_count >= LIMIT_LAYERS - SETTINGS_CEILINGS)
		return problem_set(reterr, "more than %d policies are named",
		    LIMIT_LAYERS - SETTINGS_CEILINGS);
	task->policies[task->policy_count++] = value;
	return STATUS_OK;
}

static int
take_workspace(struct task *task, const char *value, struct problem *reterr)
{
	(void)reterr;
	task->workspace_option = value;
	return STATUS_OK;
}

static int
take_audit(struct task *task, const char *value, struct problem *reterr)
{
	(void)reterr;
	task->audit_option = value;
	return STATUS_OK;
}

static int
take_audit_sync(struct task *task, const char *value, struct problem *reterr)
{
	for (int sync = 0; sync < EVENT_SYNC_COUNT; sync++)
		if (strcmp(value, event_sync_name((enum event_sync)sync)) ==
		    0) {
			task->audit_sync = (enum event_sync)sync;
			return STATUS_OK;
		}
	return problem_set(reterr,
	    "--audit-sync is auto, full or normal, not \"%.40s\"", value);
}

static int
take_env(struct task *task, const char *value, struct problem *reterr)
{
	return variables_add(&task->variables, value, reterr);
}

static int
take_result(struct task *task, const char *value, struct problem *reterr)
{
	(void)reterr;
	task->result = value;
	return STATUS_OK;
}

static int
take_credentials(struct task *task, const char *value, struct problem *reterr)
{
	(void)reterr;
	task->credentials = value;
	return STATUS_OK;
}

static int
take_word(const char *option, const char *value, const char *const *words,
    size_t count, size_t *ret, struct problem *reterr)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(value, words[i]) == 0) {
			*ret = i;
			return STATUS_OK;
		}
	(void)problem_set(
	    reterr, "%s %.40s is none of its words", option, value);
	return problem_cure(
	    reterr, "write %s, %s or %s", words[0], words[1], words[2]);
}

static int
take_files(struct task *task, const char *value, struct problem *reterr)
{
	static const char *const words[] = { [TASK_OVERLAY] = "overlay",
		[TASK_DIRECT] = "direct",
		[TASK_DISCARD] = "discard" };
	size_t which = 0;
	int status = take_word(
	    "--files", value, words, TASK_FILES_COUNT, &which, reterr);

	static_assert(sizeof(words) / sizeof(words[0]) == TASK_FILES_COUNT,
	    "every way has a word");
	if (status == STATUS_OK)
		task->files = (enum task_files)which;
	return status;
}

static int
take_apply(struct task *task, const char *value, struct problem *reterr)
{
	static const char *const words[] = { [TASK_APPLY_SAFE] = "safe",
		[TASK_APPLY_ASK] = "ask",
		[TASK_APPLY_NEVER] = "never" };
	size_t which = 0;
	int status = take_word(
	    "--apply", value, words, TASK_APPLY_COUNT, &which, reterr);

	static_assert(sizeof(words) / sizeof(words[0]) == TASK_APPLY_COUNT,
	    "every way has a word");
	if (status == STATUS_OK)
		task->apply = (enum task_apply)which;
	return status;
}

static int
take_pattern(const char *option, const char *value, const char **list,
    size_t *count, struct problem *reterr)
{
	const char *fault = glob_fault(value);

	if (fault != NULL) {
		(void)problem_set(reterr, "%s %.80s %s", option, value, fault);
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
take_from(struct task *task, const char *value, struct problem *reterr)
{
	(void)reterr;
	task->from = value;
	return STATUS_OK;
}

static int
take_snapshot(struct task *task, const char *value, struct problem *reterr)
{
	(void)reterr;
	task->snapshot = value;
	return STATUS_OK;
}

static int
take_hide(struct task *task, const char *value, struct problem *reterr)
{
	return take_pattern(
	    "--hide", value, task->hide, &task->hide_count, reterr);
}

static int
take_show(struct task *task, const char *value, struct problem *reterr)
{
	return take_pattern(
	    "--show", value, task->show, &task->show_count, reterr);
}

static int
take_timeout(struct task *task, const char *value, struct problem *reterr)
{
	if (share_time(value, &task->wall_ms))
		return STATUS_OK;
	(void)problem_set(reterr, "--timeout %.40s is not a time", value);
	return problem_cure(reterr, "write 90s, 30m or 2h, at most a year");
}

static int
take_limit(struct task *task, const char *value, struct problem *reterr)
{
	return share_take(&task->share, value, reterr);
}

static int
take_best_effort(struct task *task, const char *value, struct problem *reterr)
{
	(void)value;
	(void)reterr;
	task->share.best_effort = true;
	return STATUS_OK;
}

static int
take_no_exec_record(
    struct task *task, const char *value, struct problem *reterr)
{
	(void)value;
	(void)reterr;
	task->no_exec_record = true;
	return STATUS_OK;
}

/* What stands between colons: SOURCE, then AT, then ro or rw. */
struct mount_words {
	char source[PLACE_PATH_MAX], at[PLACE_PATH_MAX];
	bool writable;
};

static bool
copy_word(struct cursor word, char *out)
{
	if (word.left >= PLACE_PATH_MAX)
		return false;
	memcpy(out, word.at, word.left);
	out[word.left] = '\0';
	return true;
}

static bool
is_access(struct cursor word, bool *ret_writable)
{
	*ret_writable = cursor_equals(word, "rw");
	return *ret_writable || cursor_equals(word, "ro");
}

static bool
split_mount(const char *value, struct mount_words *ret)
{
	struct cursor text = cursor_of_text(value), words[3];
	size_t count = 0;

	*ret = (struct mount_words){ .at = "" };
	while (count < 2 && cursor_until(&text, ':', &words[count]))
		count++;
	words[count++] = text;
	if (count > 1 && is_access(words[count - 1], &ret->writable))
		count--;
	else if (count == 3)
		return false;
	return copy_word(words[0], ret->source) && ret->source[0] != '\0' &&
	       (count < 2 ||
		   (copy_word(words[1], ret->at) && ret->at[0] == '/'));
}

static int
take_mount(struct task *task, const char *value, struct problem *reterr)
{
	struct mount_words words;
	struct task_mount *mount;
	struct place source;
	int status;

	if (!split_mount(value, &words)) {
		(void)problem_set(
		    reterr, "--mount %.80s does not read as a mount", value);
		return problem_cure(
		    reterr, "write SOURCE, SOURCE:/AT or SOURCE:/AT:rw");
	}
	if (task->mount_count >= LIMIT_MOUNTS)
		return problem_set(
		    reterr, "more than %d mounts are named", LIMIT_MOUNTS);
	status = place_of(words.source, false, &source, reterr);
	if (status != STATUS_OK)
		return status;
	mount = &task->mounts[task->mount_count++];
	mount->source = strdup(source.path);
	mount->at = strdup(words.at[0] == '\0' ? source.path : words.at);
	mount->writable = words.writable;
	if (mount->source == NULL || mount->at == NULL)
		return problem_set(reterr, "there is no memory for a mount");
	return STATUS_OK;
}

static int
take_observe(struct task *task, const char *value, struct problem *reterr)
{
	(void)value;
	(void)reterr;
	task->observe = true;
	return STATUS_OK;
}

static int
take_quiet(struct task *task, const char *value, struct problem *reterr)
{
	(void)value;
	(void)reterr;
	task->quiet = true;
	return STATUS_OK;
}

static int
take_proxy_env(struct task *task, const char *value, struct problem *reterr)
{
	(void)value;
	(void)reterr;
	task->proxy_env = true;
	return STATUS_OK;
}

static int
take_help(struct task *task, const char *value, struct problem *reterr)
{
	(void)value;
	(void)reterr;
	task->help = true;
	return STATUS_OK;
}

static int
take_via(struct task *task, const char *value, struct problem *reterr)
{
	return uplink_read(value, &task->via, reterr);
}

static int
take_via_login(struct task *task, const char *value, struct problem *reterr)
{
	return uplink_log_in(value, &task->via, reterr);
}

struct option {
	const char *name;
	bool has_value;
	int (*take)(
	    struct task *task, const char *value, struct problem *reterr);
};

static const struct option options[] = {
	{ "--policy", true, take_policy },
	{ "--workspace", true, take_workspace },
	{ "--audit", true, take_audit },
	{ "--audit-sync", true, take_audit_sync },
	{ "--mount", true, take_mount },
	{ "--env", true, take_env },
	{ "--credentials", true, take_credentials },
	{ "--result", true, take_result },
	{ "--files", true, take_files },
	{ "--apply", true, take_apply },
	{ "--from", true, take_from },
	{ "--snapshot", true, take_snapshot },
	{ "--hide", true, take_hide },
	{ "--show", true, take_show },
	{ "--timeout", true, take_timeout },
	{ "--limit", true, take_limit },
	{ "--best-effort", false, take_best_effort },
	{ "--no-exec-record", false, take_no_exec_record },
	{ "--proxy-env", false, take_proxy_env },
	{ "--via", true, take_via },
	{ "--via-credential", true, take_via_login },
	{ "--observe", false, take_observe },
	{ "--quiet", false, take_quiet },
	{ "--help", false, take_help },
	{ "-h", false, take_help },
};

/* "--name" or "--name=value"; *ret_value is NULL or what stands behind =. */
static const struct option *
find_option(const char *word, const char **ret_value)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct option *option = &options[i];

		if (strlen(option->name) != length ||
		    strncmp(option->name, word, length) != 0)
			continue;
		*ret_value = word[length] == '=' ? word + length + 1 : NULL;
		return option;
	}
	return NULL;
}

/* Takes one option at argv[*at] and moves *at behind it. */
static int
take_option(struct task *task, char **argv, int *at, struct problem *reterr)
{
	const char *value = NULL, *word = argv[(*at)++];
	const struct option *option = find_option(word, &value);

	if (option == NULL) {
		(void)problem_set(reterr, "run has no option %.80s", word);
		return problem_cure(reterr,
		    "see exeat run --help; options of the command itself "
		    "stand behind it");
	}
	if (!option->has_value && value != NULL)
		return problem_set(reterr, "%s takes no value", option->name);
	if (option->has_value && value == NULL)
		value = argv[*at] == NULL ? NULL : argv[(*at)++];
	if (option->has_value && (value == NULL || value[0] == '\0'))
		return problem_set(reterr, "%s wants a value", option->name);
	return option->take(task, value, reterr);
}

static int
read_options(struct task *task, int argc, char **argv, struct problem *reterr)
{
	int at = 0;

	while (at < argc && !task->help && argv[at][0] == '-') {
		int status;

		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		status = take_option(task, argv, &at, reterr);
		if (status != STATUS_OK)
			return status;
	}
	task->command = argv + at;
	if (!task->help && at >= argc) {
		(void)problem_set(reterr, "no command is named");
		return problem_cure(
		    reterr, "as in: exeat run --policy p.json -- npm test");
	}
	return STATUS_OK;
}

/* What holds a person's keys is not handed to a sandbox whole. */
static int
refuse_wide(const char *path, const char *what, const struct settings *settings,
    struct problem *reterr)
{
	struct place home;
	bool wide = strcmp(path, "/") == 0;

	if (!wide && settings->home[0] == '/' &&
	    place_of(settings->home, true, &home, NULL) == STATUS_OK)
		wide = place_is_within(home.path, path);
	if (!wide)
		return STATUS_OK;
	(void)problem_set(reterr,
	    "%s %s holds the home directory, with all its keys", what, path);
	return problem_cure(reterr, "name one project's folder%s",
	    strcmp(what, "the workspace") == 0 ? ": --workspace DIR" : "");
}

static int
find_workspace(
    struct task *task, const struct settings *settings, struct problem *reterr)
{
	const char *named = task->workspace_option;
	int status = place_of(".", true, &task->cwd, reterr);

	if (status != STATUS_OK)
		return status;
	status = place_of(
	    named == NULL ? "." : named, true, &task->workspace, reterr);
	if (status != STATUS_OK)
		return status;
	if (!place_is_within(task->cwd.path, task->workspace.path))
		task->cwd = task->workspace;
	status = refuse_wide(
	    task->workspace.path, "the workspace", settings, reterr);
	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < task->mount_count; i++) {
		status = refuse_wide(
		    task->mounts[i].source, "the mount", settings, reterr);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

bool
task_can_write(const struct task *task, const char *path)
{
	if (place_is_within(path, task->workspace.path))
		return true;
	for (size_t i = 0; i < task->mount_count; i++)
		if (task->mounts[i].writable &&
		    place_is_within(path, task->mounts[i].source))
			return true;
	return false;
}

bool
task_shows(const struct task *task, const char *path)
{
	if (place_is_within(path, task->workspace.path))
		return true;
	for (size_t i = 0; i < task->mount_count; i++)
		if (place_is_within(path, task->mounts[i].source) ||
		    place_is_within(task->mounts[i].source, path))
			return true;
	return false;
}

static int
find_audit(
    struct task *task, const struct settings *settings, struct problem *reterr)
{
	struct place place;
	int status;

	if (task->audit_option == NULL) {
		status = settings_make_folder(settings->audit, reterr);
		if (status != STATUS_OK)
			return status;
	}
	status = place_of_new(
	    task->audit_option == NULL ? settings->audit : task->audit_option,
	    &place, reterr);
	if (status != STATUS_OK)
		return status;
	/* Seeing is enough: the writer's socket stands beside the database. */
	if (task_shows(task, place.path)) {
		(void)problem_set(reterr,
		    "the sandbox could reach the audit database %s",
		    place.path);
		return problem_cure(
		    reterr, "keep it outside the workspace and the mounts");
	}
	memcpy(task->audit, place.path, sizeof(task->audit));
	return STATUS_OK;
}

static int
check_program(const struct task *task, const char *path, struct problem *reterr)
{
	if (!task_can_write(task, path))
		return STATUS_OK;
	(void)problem_set(reterr,
	    "the sandbox could replace %s, which runs outside of it", path);
	return problem_cure(reterr,
	    "name another folder: --workspace DIR, or install Exeat elsewhere");
}

/* What is not found here is missed by who starts it, in its own words. */
static int
check_programs(const struct task *task, struct problem *reterr)
{
	static const char *const siblings[] = { "exeat-launch", "exeat-gateway",
		"exeat-audit" };
	struct program program;
	struct place own;
	int status = place_of("/proc/self/exe", false, &own, reterr);

	if (status == STATUS_OK)
		status = check_program(task, own.path, reterr);
	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(siblings) / sizeof(siblings[0]);
	     i++)
		if (program_find(siblings[i], &program, NULL) == STATUS_OK)
			status = check_program(task, program.path, reterr);
	return status;
}

int
task_read(struct task *ret, int argc, char **argv,
    const struct settings *settings, struct problem *reterr)
{
	int status;

	*ret = (struct task){ .credentials = settings->credentials };
	status = read_options(ret, argc, argv, reterr);
	if (status == STATUS_OK && ret->help)
		return STATUS_OK;
	if (status == STATUS_OK)
		status = uplink_check(&ret->via, reterr);
	if (status == STATUS_OK)
		status = find_workspace(ret, settings, reterr);
	if (status == STATUS_OK)
		status = check_programs(ret, reterr);
	if (status == STATUS_OK)
		status = find_audit(ret, settings, reterr);
	if (status == STATUS_OK)
		status = variables_add_defaults(&ret->variables, reterr);
	if (status != STATUS_OK)
		task_done(ret);
	return status;
}

void
task_done(struct task *task)
{
	for (size_t i = 0; i < task->mount_count; i++) {
		free(task->mounts[i].source);
		free(task->mounts[i].at);
	}
	task->mount_count = 0;
	variables_done(&task->variables);
}

/* ---- the plan ---- */

static json_t *
plan_command(const struct task *task)
{
	json_t *list = json_array();

	for (char **word = task->command; *word != NULL; word++)
		if (json_array_append_new(list, json_string(*word)) != 0)
			goto fail;
	return list;
fail:
	json_decref(list);
	return NULL;
}

static json_t *
plan_variables(const struct task *task)
{
	json_t *object = json_object();

	for (size_t i = 0; i < task->variables.count; i++) {
		const struct variable *one = &task->variables.list[i];

		if (json_object_set_new(
			object, one->name, json_string(one->value)) != 0)
			goto fail;
	}
	return object;
fail:
	json_decref(object);
	return NULL;
}

static json_t *
plan_mounts(const struct task *task)
{
	json_t *list = json_array();

	for (size_t i = 0; i < task->mount_count; i++) {
		const struct task_mount *one = &task->mounts[i];
		json_t *mount =
		    json_pack("{s:s, s:s, s:s}", "source", one->source, "at",
			one->at, "access", one->writable ? "rw" : "ro");

		if (json_array_append_new(list, mount) != 0)
			goto fail;
	}
	return list;
fail:
	json_decref(list);
	return NULL;
}

static json_t *
plan_patterns(const char *const *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(array, json_string(list[i])) != 0)
			goto fail;
	return array;
fail:
	json_decref(array);
	return NULL;
}

static json_t *
plan_layers(const struct box *box)
{
	json_t *array = json_array();

	for (size_t i = 0; i < box->manifest.layer_count; i++)
		if (json_array_append_new(
			array, json_sprintf("%s/layers/%s/tree", box->store,
				   box->manifest.layers[i])) != 0)
			goto fail;
	return array;
fail:
	json_decref(array);
	return NULL;
}

static json_t *
plan_workspace(const struct task *task, const struct box *box)
{
	if (box == NULL)
		return json_pack("{s:s, s:s}", "path", task->workspace.path,
		    "mode", "direct");
	return json_pack("{s:s, s:s, s:s, s:o}", "path", task->workspace.path,
	    "mode", "overlay", "folder", box->path, "layers", plan_layers(box));
}

int
task_plan(const struct task *task, const char *run, const struct box *box,
    char **ret, struct problem *reterr)
{
	json_t *plan =
	    json_pack("{s:i, s:s, s:s, s:o, s:I, s:{s:b}, s:{s:o, s:o}}",
		"version", PLAN_VERSION, "run", run, "cwd", task->cwd.path,
		"workspace", plan_workspace(task, box), "wall_ms",
		(json_int_t)task->wall_ms, "network", "proxy", task->proxy_env,
		"secrets", "mask", plan_patterns(task->hide, task->hide_count),
		"show", plan_patterns(task->show, task->show_count));
	char *text = NULL;

	/* Jansson takes NULL for a value as a failure of its own. */
	if (share_plan(&task->share, plan) &&
	    json_object_set_new(plan, "record_exec",
		json_boolean(!task->no_exec_record)) == 0 &&
	    json_object_set_new(plan, "command", plan_command(task)) == 0 &&
	    json_object_set_new(plan, "env", plan_variables(task)) == 0 &&
	    json_object_set_new(plan, "mounts", plan_mounts(task)) == 0)
		text = json_dumps(plan, JSON_COMPACT);
	json_decref(plan);
	if (text == NULL) {
		(void)problem_set(reterr, "an argument, variable or path of "
					  "the command is not UTF-8");
		return problem_cure(
		    reterr, "put the bytes into a script in the workspace");
	}
	*ret = text;
	return STATUS_OK;
}
