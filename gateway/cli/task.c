#include "gateway/cli/task.h"

#include <jansson.h>
#include <stdlib.h>

bool
task_can_write(const struct task *task, const char *path)
{
	if (abspath_is_within(path, task->workspace.path))
		return true;
	for (size_t i = 0; i < task->mount_count; i++)
		if (task->mounts[i].writable &&
		    abspath_is_within(path, task->mounts[i].source))
			return true;
	return false;
}

bool
task_shows(const struct task *task, const char *path)
{
	if (abspath_is_within(path, task->workspace.path))
		return true;
	for (size_t i = 0; i < task->mount_count; i++)
		if (abspath_is_within(path, task->mounts[i].source) ||
		    abspath_is_within(task->mounts[i].source, path))
			return true;
	return false;
}

void
task_done(struct task *task)
{
	for (size_t i = 0; i < task->mount_count; i++) {
		free(task->mounts[i].source);
		free(task->mounts[i].at);
	}
	for (size_t i = 0; i < task->scratch_count; i++)
		free(task->scratch[i].at);
	task->mount_count = task->scratch_count = 0;
	variables_done(&task->variables);
	for (size_t i = 0; i < task->path_count; i++)
		free(task->paths[i]);
	task->path_count = 0;
	free(STEAL(task->file_command));
	for (size_t i = 0; i < task->document_count; i++)
		json_decref(task->documents[i]);
	task->document_count = 0;
}
