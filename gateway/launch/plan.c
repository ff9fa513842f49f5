#include "gateway/launch/plan.h"

#include "gateway/files/glob.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One key of an object: what it must be, and whether it must be there. */
struct key {
	const char *name;
	json_type type; /* JSON_TRUE stands for either truth value */
	bool needed;
	bool may_be_null;
};

static const struct key top_keys[] = {
	{ "version", JSON_INTEGER, true, false },
	{ "run", JSON_STRING, true, false },
	{ "command", JSON_ARRAY, true, false },
	{ "cwd", JSON_STRING, false, false },
	{ "workspace", JSON_OBJECT, false, true },
	{ "env", JSON_OBJECT, false, false },
	{ "hostname", JSON_STRING, false, false },
	{ "user", JSON_STRING, false, false },
	{ "mounts", JSON_ARRAY, false, false },
	{ "secrets", JSON_OBJECT, false, false },
	{ "limits", JSON_OBJECT, false, false },
	{ "wall_ms", JSON_INTEGER, false, false },
	{ "idle_ms", JSON_INTEGER, false, false },
	{ "grace_ms", JSON_INTEGER, false, false },
	{ "terminal", JSON_TRUE, false, false },
	{ "record_exec", JSON_TRUE, false, false },
	{ "network", JSON_OBJECT, false, false },
	{ "nested", JSON_TRUE, false, false },
	{ "ptrace", JSON_TRUE, false, false },
};
static const struct key workspace_keys[] = {
	{ "path", JSON_STRING, true, false },
	{ "mode", JSON_STRING, true, false },
	{ "folder", JSON_STRING, false, false },
	{ "layers", JSON_ARRAY, false, false },
};
static const struct key secret_keys[] = {
	{ "mask", JSON_ARRAY, false, false },
	{ "show", JSON_ARRAY, false, false },
};
static const struct key mount_keys[] = {
	{ "source", JSON_STRING, true, false },
	{ "at", JSON_STRING, true, false },
	{ "access", JSON_STRING, true, false },
};
static const struct key limit_keys[] = {
	{ "pids", JSON_INTEGER, false, false },
	{ "open_files", JSON_INTEGER, false, false },
	{ "tmp_bytes", JSON_INTEGER, false, false },
	{ "memory", JSON_INTEGER, false, false },
	{ "cpu_thousandths", JSON_INTEGER, false, false },
	{ "file_bytes", JSON_INTEGER, false, false },
	{ "workspace_bytes", JSON_INTEGER, false, false },
	{ "best_effort", JSON_TRUE, false, false },
};
static const struct key network_keys[] = {
	{ "nic", JSON_TRUE, false, false },
	{ "proxy", JSON_TRUE, false, false },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int wrong(struct problem *reterr, const char *path, const char *format,
    ...) PRINTF_LIKE(3, 4);

static int
wrong(struct problem *reterr, const char *path, const char *format, ...)
{
	char text[PROBLEM_TEXT_MAX];
	va_list arguments;
	int length;

	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above */
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	(void)problem_set(
	    reterr, "%s %s", path, length < 0 ? "is wrong" : text);
	if (reterr != NULL &&
	    snprintf(reterr->path, sizeof(reterr->path), "%s", path) < 0)
		reterr->path[0] = '\0';
	return problem_cure(
	    reterr, "this is a mistake of whoever wrote the plan");
}

static const char *
type_name(json_type type)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a whole number",
		[JSON_TRUE] = "true or false",
	};

	return names[type];
}

static bool
has_type(const json_t *value, const struct key *key)
{
	if (key->may_be_null && json_is_null(value))
		return true;
	if (key->type == JSON_TRUE)
		return json_is_boolean(value);
	return json_typeof(value) == key->type;
}

static const struct key *
find_key(const struct key *keys, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

/* No key but those of the table, each of its type, and all that are needed. */
static int
check_keys(json_t *object, const struct key *keys, size_t count,
    const char *path, struct problem *reterr)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		const struct key *key = find_key(keys, count, name);

		if (key == NULL)
			return wrong(
			    reterr, path, "has an unknown key \"%s\"", name);
		if (!has_type(value, key))
			return wrong(reterr, path, "needs %s as \"%s\"",
			    type_name(key->type), name);
	}
	for (size_t i = 0; i < count; i++)
		if (keys[i].needed &&
		    json_object_get(object, keys[i].name) == NULL)
			return wrong(
			    reterr, path, "has no \"%s\"", keys[i].name);
	return STATUS_OK;
}

static const char *
string_of(json_t *object, const char *name, const char *fallback)
{
	json_t *value = json_object_get(object, name);

	return value == NULL ? fallback : json_string_value(value);
}

static bool
bool_of(json_t *object, const char *name, bool fallback)
{
	json_t *value = json_object_get(object, name);

	return value == NULL ? fallback : json_is_true(value);
}

static int
number_of(json_t *object, const char *name, int64_t most, uint64_t *ret,
    struct problem *reterr)
{
	json_t *value = json_object_get(object, name);
	json_int_t number;

	if (value == NULL)
		return STATUS_OK;
	number = json_integer_value(value);
	if (number < 1 || number > most)
		return wrong(reterr, "$.limits", "has %s out of range", name);
	*ret = (uint64_t)number;
	return STATUS_OK;
}

/* Absolute, and nothing in it that means another path. */
static bool
is_plain_path(const char *path)
{
	size_t length = strlen(path);

	if (length < 1 || length >= LIMIT_PATH || path[0] != '/')
		return false;
	if (length == 1)
		return true;
	for (const char *part = path; part != NULL;
	     part = strchr(part + 1, '/')) {
		size_t size = strcspn(part + 1, "/");

		if (size == 0 || (size == 1 && part[1] == '.') ||
		    (size == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}

static bool
is_at_or_below(const char *path, const char *top)
{
	size_t length = strlen(top);

	return strncmp(path, top, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

/* What the view itself is made of is not anybody's to cover. */
static bool
is_ours(const char *at)
{
	static const char *const whole[] = { "/proc", "/sys", "/dev", "/etc",
		"/usr", "/bin", "/sbin", "/lib", "/lib64" };
	static const char *const alone[] = { "/", "/tmp", "/var", "/var/tmp",
		"/run", "/home", "/opt", "/nix" };

	for (size_t i = 0; i < COUNT(whole); i++)
		if (is_at_or_below(at, whole[i]))
			return true;
	for (size_t i = 0; i < COUNT(alone); i++)
		if (strcmp(at, alone[i]) == 0)
			return true;
	return false;
}

static int
check_mount(
    const struct plan_mount *mount, const char *path, struct problem *reterr)
{
	if (!is_plain_path(mount->source))
		return wrong(reterr, path,
		    "needs an absolute path without "
		    "\"..\" as its source");
	if (!is_plain_path(mount->at))
		return wrong(reterr, path,
		    "needs an absolute path without "
		    "\"..\" as its target");
	if (is_ours(mount->at)) {
		(void)wrong(reterr, path,
		    "would cover %s, which the sandbox needs itself",
		    mount->at);
		return problem_cure(reterr, "choose another directory");
	}
	return STATUS_OK;
}

static int
read_folder(struct plan *plan, const json_t *value, const char *path,
    struct problem *reterr)
{
	const char *folder = json_string_value(value);

	if (folder == NULL || !is_plain_path(folder))
		return wrong(reterr, path,
		    "needs an absolute path without \"..\" in it");
	plan->folders[plan->folder_count] =
	    (struct plan_mount){ .source = folder,
		    .writable = plan->folder_count == 0 };
	plan->folder_count++;
	return STATUS_OK;
}

/* What an overlay is made of besides the workspace. */
static int
read_folders(json_t *object, struct plan *plan, struct problem *reterr)
{
	json_t *layers = json_object_get(object, "layers");
	size_t count = json_array_size(layers);
	int status;

	if (count > LIMIT_STACK)
		return wrong(
		    reterr, "$.workspace.layers", "has too many entries");
	plan->folders = calloc(count + 1, sizeof(*plan->folders));
	if (plan->folders == NULL)
		return STATUS_NO_MEMORY;
	status = read_folder(plan, json_object_get(object, "folder"),
	    "$.workspace.folder", reterr);
	for (size_t i = 0; status == STATUS_OK && i < count; i++)
		status = read_folder(plan, json_array_get(layers, i),
		    "$.workspace.layers", reterr);
	return status;
}

static int
read_workspace(json_t *object, struct plan *plan, struct problem *reterr)
{
	const char *path, *mode;
	int status = check_keys(object, workspace_keys, COUNT(workspace_keys),
	    "$.workspace", reterr);

	if (status != STATUS_OK)
		return status;
	path = json_string_value(json_object_get(object, "path"));
	mode = json_string_value(json_object_get(object, "mode"));
	plan->mounts[0] = (struct plan_mount){ path, path, true };
	plan->mount_count = 1;
	plan->has_workspace = true;
	status = check_mount(&plan->mounts[0], "$.workspace.path", reterr);
	if (status != STATUS_OK || strcmp(mode, "overlay") == 0)
		return status == STATUS_OK ? read_folders(object, plan, reterr)
					   : status;
	if (strcmp(mode, "direct") != 0)
		return wrong(reterr, "$.workspace.mode",
		    "is neither \"overlay\" nor \"direct\"");
	if (json_object_get(object, "folder") != NULL ||
	    json_object_get(object, "layers") != NULL)
		return wrong(reterr, "$.workspace",
		    "has folders that only an overlay needs");
	return STATUS_OK;
}

static int
read_patterns(json_t *secrets, const char *name, struct plan_patterns *ret,
    struct problem *reterr)
{
	json_t *list = json_object_get(secrets, name);
	size_t count = json_array_size(list);

	if (count > LIMIT_PATTERNS)
		return wrong(reterr, "$.secrets", "has too many patterns");
	ret->list = calloc(count + 1, sizeof(*ret->list));
	if (ret->list == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const char *pattern =
		    json_string_value(json_array_get(list, i));
		const char *fault =
		    pattern == NULL ? "is no string" : glob_fault(pattern);

		if (fault != NULL)
			return wrong(reterr, "$.secrets",
			    "has \"%.100s\" in %s, which %s",
			    pattern == NULL ? "?" : pattern, name, fault);
		ret->list[ret->count++] = pattern;
	}
	return STATUS_OK;
}

static int
read_secrets(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *secrets = json_object_get(root, "secrets");
	int status = STATUS_OK;

	if (secrets != NULL)
		status = check_keys(secrets, secret_keys, COUNT(secret_keys),
		    "$.secrets", reterr);
	if (status == STATUS_OK)
		status = read_patterns(secrets, "mask", &plan->mask, reterr);
	if (status == STATUS_OK)
		status = read_patterns(secrets, "show", &plan->show, reterr);
	return status;
}

static int
read_mount(
    json_t *object, const char *path, struct plan *plan, struct problem *reterr)
{
	struct plan_mount *mount = &plan->mounts[plan->mount_count];
	const char *access;
	int status;

	if (!json_is_object(object))
		return wrong(reterr, path, "is not an object");
	status =
	    check_keys(object, mount_keys, COUNT(mount_keys), path, reterr);
	if (status != STATUS_OK)
		return status;
	access = json_string_value(json_object_get(object, "access"));
	if (strcmp(access, "ro") != 0 && strcmp(access, "rw") != 0)
		return wrong(reterr, path, "needs \"ro\" or \"rw\" as access");
	mount->source = json_string_value(json_object_get(object, "source"));
	mount->at = json_string_value(json_object_get(object, "at"));
	mount->writable = strcmp(access, "rw") == 0;
	for (size_t i = 0; i < plan->mount_count; i++)
		if (strcmp(plan->mounts[i].at, mount->at) == 0)
			return wrong(reterr, path,
			    "has the same target as another mount");
	plan->mount_count++;
	return check_mount(mount, path, reterr);
}

static int
read_mounts(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *workspace = json_object_get(root, "workspace");
	json_t *mounts = json_object_get(root, "mounts");
	size_t count = json_array_size(mounts);
	int status = STATUS_OK;

	if (count > LIMIT_PLAN_MOUNTS)
		return wrong(reterr, "$.mounts", "has too many entries");
	plan->mounts = calloc(count + 1, sizeof(*plan->mounts));
	if (plan->mounts == NULL)
		return STATUS_NO_MEMORY;
	if (json_is_object(workspace))
		status = read_workspace(workspace, plan, reterr);
	for (size_t i = 0; status == STATUS_OK && i < count; i++) {
		char path[32];

		if (snprintf(path, sizeof(path), "$.mounts[%zu]", i) < 0)
			return STATUS_TOO_LONG;
		status =
		    read_mount(json_array_get(mounts, i), path, plan, reterr);
	}
	return status;
}

static int
read_command(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *command = json_object_get(root, "command");
	size_t count = json_array_size(command);

	if (count < 1 || count > LIMIT_PLAN_ARGUMENTS)
		return wrong(
		    reterr, "$.command", "has no entry, or too many of them");
	plan->command = calloc(count + 1, sizeof(*plan->command));
	if (plan->command == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		plan->command[i] =
		    json_string_value(json_array_get(command, i));
		if (plan->command[i] == NULL)
			return wrong(
			    reterr, "$.command", "holds what is no string");
	}
	if (plan->command[0][0] == '\0')
		return wrong(reterr, "$.command", "begins with an empty name");
	return STATUS_OK;
}

static bool
is_variable_name(const char *name)
{
	if ((*name < 'A' || *name > 'Z') && (*name < 'a' || *name > 'z') &&
	    *name != '_')
		return false;
	return name[strspn(name,
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		   "0123456789_")] == '\0';
}

static int
read_env(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *env = json_object_get(root, "env"), *value;
	size_t count = json_object_size(env), bytes = 0;
	const char *name;

	if (count > LIMIT_PLAN_VARIABLES)
		return wrong(reterr, "$.env", "has too many variables");
	plan->env = calloc(count + 1, sizeof(*plan->env));
	if (plan->env == NULL)
		return STATUS_NO_MEMORY;
	json_object_foreach(env, name, value)
	{
		if (!is_variable_name(name))
			return wrong(reterr, "$.env",
			    "has \"%s\", which is no variable's name", name);
		if (!json_is_string(value))
			return wrong(
			    reterr, "$.env", "has no string as %s", name);
		bytes += strlen(name) + json_string_length(value) + 2;
		plan->env[plan->env_count++] =
		    (struct plan_variable){ name, json_string_value(value) };
	}
	if (bytes > LIMIT_PLAN_ENVIRONMENT)
		return wrong(reterr, "$.env", "is too long in all");
	return STATUS_OK;
}

static int
read_limits(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *limits = json_object_get(root, "limits");
	const struct {
		const char *name;
		int64_t most;
		uint64_t *value;
	} numbers[] = {
		{ "pids", LIMIT_PIDS, &plan->pids },
		{ "open_files", LIMIT_OPEN_FILES, &plan->open_files },
		{ "tmp_bytes", INT64_MAX, &plan->tmp_bytes },
		{ "memory", INT64_MAX, &plan->limits.memory },
		{ "cpu_thousandths", LIMIT_CPU_THOUSANDTHS,
		    &plan->limits.cpu_thousandths },
		{ "file_bytes", INT64_MAX, &plan->limits.file_bytes },
		{ "workspace_bytes", INT64_MAX, &plan->limits.workspace_bytes },
	};
	int status;

	plan->pids = PLAN_PIDS;
	plan->open_files = PLAN_OPEN_FILES;
	plan->tmp_bytes = PLAN_TMP_BYTES;
	if (limits == NULL)
		return STATUS_OK;
	status = check_keys(
	    limits, limit_keys, COUNT(limit_keys), "$.limits", reterr);
	for (size_t i = 0; status == STATUS_OK && i < COUNT(numbers); i++)
		status = number_of(limits, numbers[i].name, numbers[i].most,
		    numbers[i].value, reterr);
	if (status == STATUS_OK)
		plan->limits.best_effort =
		    bool_of(limits, "best_effort", false);
	return status;
}

/* A label that can stand in passwd, hosts and as a host's name. */
static bool
is_label(const char *text, size_t most)
{
	size_t length = strlen(text);

	return length >= 1 && length <= most && text[0] != '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

/* Milliseconds; what is not named is fallback. */
static int
read_time(json_t *root, const char *name, int64_t fallback, int64_t *ret,
    struct problem *reterr)
{
	json_t *value = json_object_get(root, name);
	int64_t ms = value == NULL ? fallback : json_integer_value(value);

	if (ms < 0)
		return wrong(reterr, "$", "has %s below zero", name);
	*ret = ms;
	return STATUS_OK;
}

static int
read_times(json_t *root, struct plan *plan, struct problem *reterr)
{
	int status = read_time(root, "wall_ms", 0, &plan->wall_ms, reterr);

	if (status == STATUS_OK)
		status = read_time(root, "idle_ms", 0, &plan->idle_ms, reterr);
	if (status == STATUS_OK)
		status = read_time(root, "grace_ms", LIMIT_TIMEOUT_GRACE_MS,
		    &plan->grace_ms, reterr);
	return status;
}

static int
read_names(json_t *root, struct plan *plan, struct problem *reterr)
{
	plan->run = string_of(root, "run", "");
	plan->hostname = string_of(root, "hostname", "box");
	plan->user = string_of(root, "user", "agent");
	plan->cwd = string_of(root, "cwd", "/");
	plan->nested = bool_of(root, "nested", false);
	plan->ptrace = bool_of(root, "ptrace", true);
	plan->terminal = bool_of(root, "terminal", true);
	plan->record_exec = bool_of(root, "record_exec", false);
	if (json_integer_value(json_object_get(root, "version")) != 1)
		return wrong(reterr, "$.version", "is not 1");
	if (strlen(plan->run) > LIMIT_RUN_UID)
		return wrong(reterr, "$.run", "is too long");
	if (!is_label(plan->hostname, LIMIT_LABEL))
		return wrong(reterr, "$.hostname", "is no host name");
	if (!is_label(plan->user, 32) || plan->user[0] <= '9')
		return wrong(reterr, "$.user", "is no user name");
	if (!is_plain_path(plan->cwd))
		return wrong(reterr, "$.cwd", "is no plain absolute path");
	return STATUS_OK;
}

static int
read_network(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *network = json_object_get(root, "network");
	int status;

	plan->nic = true;
	if (network == NULL)
		return STATUS_OK;
	status = check_keys(
	    network, network_keys, COUNT(network_keys), "$.network", reterr);
	if (status != STATUS_OK)
		return status;
	plan->nic = bool_of(network, "nic", true);
	plan->proxy = bool_of(network, "proxy", false);
	return STATUS_OK;
}

typedef int plan_reader(json_t *, struct plan *, struct problem *);

static plan_reader *const readers[] = { read_names, read_times, read_command,
	read_env, read_mounts, read_secrets, read_limits, read_network };

int
plan_parse(
    const void *text, size_t length, struct plan *ret, struct problem *reterr)
{
	struct plan plan = { 0 };
	json_error_t error;
	int status;

	if (length > LIMIT_PLAN_BYTES)
		return wrong(reterr, "$", "is too long");
	plan.document =
	    json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (plan.document == NULL) {
		(void)wrong(
		    reterr, "$", "does not read as JSON: %s", error.text);
		if (reterr != NULL) {
			reterr->line = (unsigned)error.line;
			reterr->column = (unsigned)error.column;
		}
		return STATUS_PROBLEM;
	}
	status = json_is_object(plan.document)
		     ? check_keys(plan.document, top_keys, COUNT(top_keys), "$",
			   reterr)
		     : wrong(reterr, "$", "is not an object");
	for (size_t i = 0; status == STATUS_OK && i < COUNT(readers); i++)
		status = readers[i](plan.document, &plan, reterr);
	if (status != STATUS_OK) {
		plan_done(&plan);
		return status;
	}
	*ret = plan;
	return STATUS_OK;
}

void
plan_done(struct plan *plan)
{
	if (plan == NULL)
		return;
	free(plan->command);
	free(plan->env);
	free(plan->mounts);
	free(plan->folders);
	free(plan->mask.list);
	free(plan->show.list);
	json_decref(plan->document);
	memset(plan, 0, sizeof(*plan));
}
