#include "gateway/launch/plan_parse.h"

#include "gateway/files/target.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_member.h"
#include "gateway/launch/plan_view.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct plan_key top_keys[] = {
	{ "version", JSON_INTEGER, true, false },
	{ "run", JSON_STRING, true, false },
	{ "command", JSON_ARRAY, true, false },
	{ "cwd", JSON_STRING, false, false },
	{ "workspace", JSON_OBJECT, false, true },
	{ "env", JSON_OBJECT, false, false },
	{ "hostname", JSON_STRING, false, false },
	{ "user", JSON_STRING, false, false },
	{ "mounts", JSON_ARRAY, false, false },
	{ "scratch", JSON_ARRAY, false, false },
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
static const struct plan_key limit_keys[] = {
	{ "pids", JSON_INTEGER, false, false },
	{ "open_files", JSON_INTEGER, false, false },
	{ "tmp_bytes", JSON_INTEGER, false, false },
	{ "memory", JSON_INTEGER, false, false },
	{ "cpu_thousandths", JSON_INTEGER, false, false },
	{ "file_bytes", JSON_INTEGER, false, false },
	{ "workspace_bytes", JSON_INTEGER, false, false },
	{ "best_effort", JSON_TRUE, false, false },
};
static const struct plan_key network_keys[] = {
	{ "nic", JSON_TRUE, false, false },
	{ "proxy", JSON_TRUE, false, false },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int
read_command(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *command = json_object_get(root, "command");
	size_t count = json_array_size(command);

	if (count < 1 || count > LIMIT_PLAN_ARGUMENTS)
		return plan_wrong(
		    reterr, "$.command", "has no entry, or too many of them");
	plan->command = calloc(count + 1, sizeof(*plan->command));
	if (plan->command == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		plan->command[i] =
		    json_string_value(json_array_get(command, i));
		if (plan->command[i] == NULL)
			return plan_wrong(
			    reterr, "$.command", "holds what is no string");
	}
	if (plan->command[0][0] == '\0')
		return plan_wrong(
		    reterr, "$.command", "begins with an empty name");
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
		return plan_wrong(reterr, "$.env", "has too many variables");
	plan->env = calloc(count + 1, sizeof(*plan->env));
	if (plan->env == NULL)
		return STATUS_NO_MEMORY;
	json_object_foreach(env, name, value)
	{
		if (!is_variable_name(name))
			return plan_wrong(reterr, "$.env",
			    "has \"%s\", which is no variable's name", name);
		if (!json_is_string(value))
			return plan_wrong(
			    reterr, "$.env", "has no string as %s", name);
		bytes += strlen(name) + json_string_length(value) + 2;
		plan->env[plan->env_count++] =
		    (struct plan_variable){ name, json_string_value(value) };
	}
	if (bytes > LIMIT_PLAN_ENVIRONMENT)
		return plan_wrong(reterr, "$.env", "is too long in all");
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
	status = plan_check_keys(
	    limits, limit_keys, COUNT(limit_keys), "$.limits", reterr);
	for (size_t i = 0; status == STATUS_OK && i < COUNT(numbers); i++)
		status = plan_number(limits, numbers[i].name, numbers[i].most,
		    numbers[i].value, reterr);
	if (status == STATUS_OK)
		plan->limits.best_effort =
		    plan_flag(limits, "best_effort", false);
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
		return plan_wrong(reterr, "$", "has %s below zero", name);
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
	plan->run = plan_text(root, "run", "");
	plan->hostname = plan_text(root, "hostname", "box");
	plan->user = plan_text(root, "user", "agent");
	plan->cwd = plan_text(root, "cwd", "/");
	plan->nested = plan_flag(root, "nested", false);
	plan->ptrace = plan_flag(root, "ptrace", true);
	plan->terminal = plan_flag(root, "terminal", true);
	plan->record_exec = plan_flag(root, "record_exec", false);
	if (json_integer_value(json_object_get(root, "version")) != 1)
		return plan_wrong(reterr, "$.version", "is not 1");
	if (strlen(plan->run) > LIMIT_RUN_UID)
		return plan_wrong(reterr, "$.run", "is too long");
	if (!is_label(plan->hostname, LIMIT_LABEL))
		return plan_wrong(reterr, "$.hostname", "is no host name");
	if (!is_label(plan->user, 32) || plan->user[0] <= '9')
		return plan_wrong(reterr, "$.user", "is no user name");
	if (!target_is_plain(plan->cwd))
		return plan_wrong(reterr, "$.cwd", "is no plain absolute path");
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
	status = plan_check_keys(
	    network, network_keys, COUNT(network_keys), "$.network", reterr);
	if (status != STATUS_OK)
		return status;
	plan->nic = plan_flag(network, "nic", true);
	plan->proxy = plan_flag(network, "proxy", false);
	return STATUS_OK;
}

typedef int plan_reader(json_t *, struct plan *, struct problem *);

static plan_reader *const readers[] = { read_names, read_times, read_command,
	read_env, plan_read_mounts, plan_read_scratch, plan_read_secrets,
	read_limits, read_network };

int
plan_parse(
    const void *text, size_t length, struct plan *ret, struct problem *reterr)
{
	struct plan plan = { 0 };
	json_error_t error;
	int status;

	if (length > LIMIT_PLAN_BYTES)
		return plan_wrong(reterr, "$", "is too long");
	plan.document =
	    json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (plan.document == NULL) {
		(void)plan_wrong(
		    reterr, "$", "does not read as JSON: %s", error.text);
		if (reterr != NULL) {
			reterr->line = (unsigned)error.line;
			reterr->column = (unsigned)error.column;
		}
		return STATUS_PROBLEM;
	}
	status = json_is_object(plan.document)
		     ? plan_check_keys(plan.document, top_keys, COUNT(top_keys),
			   "$", reterr)
		     : plan_wrong(reterr, "$", "is not an object");
	for (size_t i = 0; status == STATUS_OK && i < COUNT(readers); i++)
		status = readers[i](plan.document, &plan, reterr);
	if (status != STATUS_OK) {
		plan_done(&plan);
		return status;
	}
	*ret = plan;
	return STATUS_OK;
}
