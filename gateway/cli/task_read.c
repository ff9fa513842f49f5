#include "gateway/cli/task_read.h"

#include "gateway/cli/program.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/cli/task_file.h"
#include "gateway/cli/task_mount.h"
#include "gateway/cli/task_options.h"
#include "gateway/cli/uplink.h"
#include "gateway/files/target.h"
#include "schema/status.h"

#include <stdio.h>
#include <string.h>

/* The command's folder as it is called inside. */
static int
find_inside(struct task *task, struct problem *reterr)
{
	const char *below = task->cwd.path + strlen(task->workspace.path);
	char inside[ABSPATH_MAX];
	int length = -1;

	if (task->cwd_option != NULL && !target_is_plain(task->cwd_option)) {
		(void)problem_set(reterr,
		    "the command's folder %.200s is no absolute path without "
		    "\"..\" in it (task.invalid)",
		    task->cwd_option);
		return problem_cure(
		    reterr, "name it as it is called in the sandbox");
	}
	if (task->cwd_option != NULL)
		length =
		    snprintf(inside, sizeof(inside), "%s", task->cwd_option);
	else if (task->at != NULL)
		length =
		    snprintf(inside, sizeof(inside), "%s%s", task->at, below);
	else
		return STATUS_OK;
	if (length < 0 || (size_t)length >= sizeof(inside))
		return problem_set(
		    reterr, "the path of the command's folder is too long");
	memcpy(task->cwd.path, inside, (size_t)length + 1);
	return STATUS_OK;
}

static int
find_workspace(
    struct task *task, const struct settings *settings, struct problem *reterr)
{
	const char *named = task->workspace_option;
	int status = abspath_of(".", true, &task->cwd, reterr);

	if (status == STATUS_OK)
		status = abspath_of(named == NULL ? "." : named, true,
		    &task->workspace, reterr);
	if (status != STATUS_OK)
		return status;
	if (!abspath_is_within(task->cwd.path, task->workspace.path))
		task->cwd = task->workspace;
	status = task_mount_check(
	    task->workspace.path, "the workspace", settings, reterr);
	return status == STATUS_OK ? find_inside(task, reterr) : status;
}

static int
find_audit(
    struct task *task, const struct settings *settings, struct problem *reterr)
{
	struct abspath place;
	int status;

	if (task->audit_option == NULL) {
		status = settings_make_folder(settings->audit, reterr);
		if (status != STATUS_OK)
			return status;
	}
	status = abspath_of_new(
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
	struct abspath own;
	int status = abspath_of("/proc/self/exe", false, &own, reterr);

	if (status == STATUS_OK)
		status = check_program(task, own.path, reterr);
	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(siblings) / sizeof(siblings[0]);
	     i++)
		if (program_find(siblings[i], &program, NULL) == STATUS_OK)
			status = check_program(task, program.path, reterr);
	return status;
}

/* A sandbox must not write what the next one is made by. */
static int
check_file(const struct task *task, struct problem *reterr)
{
	struct abspath place;
	int status;

	if (task->file == NULL)
		return STATUS_OK;
	status = abspath_of(task->file, false, &place, reterr);
	if (status != STATUS_OK || !task_can_write(task, place.path))
		return status;
	(void)problem_set(
	    reterr, "the sandbox could write its task %s", place.path);
	return problem_cure(reterr, "keep it outside the workspace");
}

static void
check_mounts(const struct task *task, const struct settings *settings,
    struct problems *reterr)
{
	for (size_t i = 0; i < task->mount_count; i++) {
		struct problem problem = { .text = "" };

		if (task_mount_check(task->mounts[i].source, "the mount",
			settings, &problem) != STATUS_OK)
			problems_add(reterr, &problem);
	}
}

/* Everything that is not right; but without a workspace nothing is. */
static void
check(
    struct task *task, const struct settings *settings, struct problems *reterr)
{
	struct problem problem = { .text = "" };
	int status = uplink_check(&task->via, &problem);

	if (status == STATUS_OK)
		status = find_workspace(task, settings, &problem);
	check_mounts(task, settings, reterr);
	if (status == STATUS_OK)
		status = check_file(task, &problem);
	if (status == STATUS_OK)
		status = check_programs(task, &problem);
	if (status == STATUS_OK)
		status = find_audit(task, settings, &problem);
	if (status == STATUS_OK)
		status = variables_add_defaults(&task->variables, &problem);
	if (status != STATUS_OK)
		problems_add(reterr, &problem);
}

int
task_read(struct task *ret, int argc, char **argv,
    const struct settings *settings, struct problems *reterr)
{
	*ret = (struct task){ .credentials = settings->credentials };
	ret->file = task_options_file(argc, argv);
	if (ret->file != NULL)
		task_file_read(ret, settings, reterr);
	task_options_read(ret, argc, argv, reterr);
	if (!ret->help && !problems_any(reterr))
		check(ret, settings, reterr);
	if (ret->help || !problems_any(reterr))
		return STATUS_OK;
	task_done(ret);
	return STATUS_PROBLEM;
}
