#include "gateway/launch/plan_view.h"

#include "gateway/files/glob.h"
#include "gateway/files/target.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_member.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct plan_key workspace_keys[] = {
	{ "path", JSON_STRING, true, false },
	{ "at", JSON_STRING, false, false },
	{ "mode", JSON_STRING, true, false },
	{ "folder", JSON_STRING, false, false },
	{ "layers", JSON_ARRAY, false, false },
};
static const struct plan_key secret_keys[] = {
	{ "mask", JSON_ARRAY, false, false },
	{ "show", JSON_ARRAY, false, false },
};
static const struct plan_key scratch_keys[] = {
	{ "at", JSON_STRING, true, false },
	{ "bytes", JSON_INTEGER, true, false },
};
static const struct plan_key mount_keys[] = {
	{ "source", JSON_STRING, true, false },
	{ "at", JSON_STRING, true, false },
	{ "access", JSON_STRING, true, false },
};

static int
check_target(const char *at, const char *path, struct problem *reterr)
{
	const char *fault = target_fault(at);

	if (fault == NULL)
		return STATUS_OK;
	(void)plan_wrong(reterr, path,
	    "has a target, %s, that %s (mount.target)", at, fault);
	return problem_cure(reterr, "choose another directory");
}

/* Whether nothing else has this target. */
static int
check_alone(const struct plan *plan, const char *at, const char *path,
    struct problem *reterr)
{
	bool alone = true;

	for (size_t i = 0; i < plan->mount_count; i++)
		alone = alone && strcmp(plan->mounts[i].at, at) != 0;
	for (size_t i = 0; i < plan->scratch_count; i++)
		alone = alone && strcmp(plan->scratch[i].at, at) != 0;
	return alone ? STATUS_OK
		     : plan_wrong(reterr, path,
			   "has the same target as another mount "
			   "(mount.target)");
}

static int
check_mount(
    const struct plan_mount *mount, const char *path, struct problem *reterr)
{
	if (!target_is_plain(mount->source))
		return plan_wrong(reterr, path,
		    "needs an absolute path without "
		    "\"..\" as its source");
	return check_target(mount->at, path, reterr);
}

static int
read_folder(struct plan *plan, const json_t *value, const char *path,
    struct problem *reterr)
{
	const char *folder = json_string_value(value);

	if (folder == NULL || !target_is_plain(folder))
		return plan_wrong(reterr, path,
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
		return plan_wrong(
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
	int status = plan_check_keys(object, workspace_keys,
	    COUNT(workspace_keys), "$.workspace", reterr);

	if (status != STATUS_OK)
		return status;
	path = plan_text(object, "path", "");
	mode = plan_text(object, "mode", "");
	plan->mounts[0] =
	    (struct plan_mount){ path, plan_text(object, "at", path), true };
	plan->mount_count = 1;
	plan->has_workspace = true;
	status = check_mount(&plan->mounts[0], "$.workspace.path", reterr);
	if (status != STATUS_OK || strcmp(mode, "overlay") == 0)
		return status == STATUS_OK ? read_folders(object, plan, reterr)
					   : status;
	if (strcmp(mode, "direct") != 0)
		return plan_wrong(reterr, "$.workspace.mode",
		    "is neither \"overlay\" nor \"direct\"");
	if (json_object_get(object, "folder") != NULL ||
	    json_object_get(object, "layers") != NULL)
		return plan_wrong(reterr, "$.workspace",
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
		return plan_wrong(reterr, "$.secrets", "has too many patterns");
	ret->list = calloc(count + 1, sizeof(*ret->list));
	if (ret->list == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const char *pattern =
		    json_string_value(json_array_get(list, i));
		const char *fault =
		    pattern == NULL ? "is no string" : glob_fault(pattern);

		if (fault != NULL)
			return plan_wrong(reterr, "$.secrets",
			    "has \"%.100s\" in %s, which %s",
			    pattern == NULL ? "?" : pattern, name, fault);
		ret->list[ret->count++] = pattern;
	}
	return STATUS_OK;
}

int
plan_read_secrets(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *secrets = json_object_get(root, "secrets");
	int status = STATUS_OK;

	if (secrets != NULL)
		status = plan_check_keys(secrets, secret_keys,
		    COUNT(secret_keys), "$.secrets", reterr);
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
		return plan_wrong(reterr, path, "is not an object");
	status = plan_check_keys(
	    object, mount_keys, COUNT(mount_keys), path, reterr);
	if (status != STATUS_OK)
		return status;
	access = plan_text(object, "access", "");
	if (strcmp(access, "ro") != 0 && strcmp(access, "rw") != 0)
		return plan_wrong(
		    reterr, path, "needs \"ro\" or \"rw\" as access");
	mount->source = plan_text(object, "source", "");
	mount->at = plan_text(object, "at", "");
	mount->writable = strcmp(access, "rw") == 0;
	status = check_alone(plan, mount->at, path, reterr);
	if (status == STATUS_OK)
		status = check_mount(mount, path, reterr);
	if (status == STATUS_OK)
		plan->mount_count++;
	return status;
}

int
plan_read_mounts(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *workspace = json_object_get(root, "workspace");
	json_t *mounts = json_object_get(root, "mounts");
	size_t count = json_array_size(mounts);
	int status = STATUS_OK;

	if (count > LIMIT_PLAN_MOUNTS)
		return plan_wrong(reterr, "$.mounts", "has too many entries");
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
read_one_scratch(
    json_t *object, const char *path, struct plan *plan, struct problem *reterr)
{
	struct plan_scratch scratch = { .bytes = 0 };
	int status;

	if (!json_is_object(object))
		return plan_wrong(reterr, path, "is not an object");
	status = plan_check_keys(
	    object, scratch_keys, COUNT(scratch_keys), path, reterr);
	if (status == STATUS_OK)
		status = plan_number(
		    object, "bytes", INT64_MAX, &scratch.bytes, reterr);
	if (status != STATUS_OK)
		return status;
	scratch.at = plan_text(object, "at", "");
	status = check_target(scratch.at, path, reterr);
	if (status == STATUS_OK)
		status = check_alone(plan, scratch.at, path, reterr);
	if (status == STATUS_OK)
		plan->scratch[plan->scratch_count++] = scratch;
	return status;
}

int
plan_read_scratch(json_t *root, struct plan *plan, struct problem *reterr)
{
	json_t *list = json_object_get(root, "scratch");
	size_t count = json_array_size(list);
	int status = STATUS_OK;

	if (count > LIMIT_PLAN_MOUNTS)
		return plan_wrong(reterr, "$.scratch", "has too many entries");
	plan->scratch = calloc(count + 1, sizeof(*plan->scratch));
	plan->scratch_count = 0;
	if (plan->scratch == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; status == STATUS_OK && i < count; i++) {
		char path[32];

		if (snprintf(path, sizeof(path), "$.scratch[%zu]", i) < 0)
			return STATUS_TOO_LONG;
		status = read_one_scratch(
		    json_array_get(list, i), path, plan, reterr);
	}
	return status;
}
