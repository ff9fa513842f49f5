#include "gateway/cli/task_plan.h"

#include "gateway/cli/task.h"
#include "gateway/files/box.h"
#include "schema/status.h"

#include <jansson.h>

#define PLAN_VERSION 1

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
plan_scratch(const struct task *task)
{
	json_t *list = json_array();

	for (size_t i = 0; i < task->scratch_count; i++) {
		const struct task_scratch *one = &task->scratch[i];
		json_t *scratch = json_pack("{s:s, s:I}", "at", one->at,
		    "bytes", (json_int_t)one->bytes);

		if (json_array_append_new(list, scratch) != 0)
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
	json_t *workspace = json_pack("{s:s, s:s}", "path",
	    task->workspace.path, "mode", box == NULL ? "direct" : "overlay");

	if (task->at != NULL &&
	    json_object_set_new(workspace, "at", json_string(task->at)) != 0)
		goto fail;
	if (box != NULL && (json_object_set_new(workspace, "folder",
				json_string(box->path)) != 0 ||
			       json_object_set_new(
				   workspace, "layers", plan_layers(box)) != 0))
		goto fail;
	return workspace;
fail:
	json_decref(workspace);
	return NULL;
}

/* What is on or off, and the name of the machine. */
static bool
plan_switches(const struct task *task, json_t *plan)
{
	const struct {
		const char *key;
		bool value;
	} switches[] = {
		{ "record_exec", !task->no_exec_record },
		{ "terminal", !task->no_terminal },
		{ "nested", task->nested },
		{ "ptrace", !task->no_ptrace },
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (json_object_set_new(plan, switches[i].key,
			json_boolean(switches[i].value)) != 0)
			return false;
	return task->name == NULL || json_object_set_new(plan, "hostname",
					 json_string(task->name)) == 0;
}

int
task_plan_make(const struct task *task, const char *run, const struct box *box,
    char **ret, struct problem *reterr)
{
	json_t *plan = json_pack(
	    "{s:i, s:s, s:s, s:o, s:I, s:{s:b, s:b}, s:{s:o, s:o}}", "version",
	    PLAN_VERSION, "run", run, "cwd", task->cwd.path, "workspace",
	    plan_workspace(task, box), "wall_ms", (json_int_t)task->wall_ms,
	    "network", "proxy", task->proxy_env, "nic", !task->no_nic,
	    "secrets", "mask", plan_patterns(task->hide, task->hide_count),
	    "show", plan_patterns(task->show, task->show_count));
	char *text = NULL;

	/* Jansson takes NULL for a value as a failure of its own. */
	if (share_plan(&task->share, plan) && plan_switches(task, plan) &&
	    json_object_set_new(plan, "command", plan_command(task)) == 0 &&
	    json_object_set_new(plan, "env", plan_variables(task)) == 0 &&
	    json_object_set_new(plan, "mounts", plan_mounts(task)) == 0 &&
	    json_object_set_new(plan, "scratch", plan_scratch(task)) == 0)
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
