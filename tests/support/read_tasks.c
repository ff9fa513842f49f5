/*
 * Reads each task file that is named and prints a JSON list: true for one
 * that reads, else the text of every problem in it.
 */
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/cli/task_file.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>

static json_t *
read_one(const char *path, const struct settings *settings)
{
	struct problems problems = { .list = NULL };
	struct task task = { .file = path };
	json_t *texts = json_array();

	task_file_read(&task, settings, &problems);
	for (size_t i = 0; i < problems.count; i++)
		(void)json_array_append_new(
		    texts, json_string(problems.list[i].text));
	if (!problems_any(&problems)) {
		json_decref(texts);
		texts = json_true();
	}
	task_done(&task);
	problems_done(&problems);
	return texts;
}

int
main(int argc, char **argv)
{
	struct settings settings;
	json_t *list = json_array();
	bool done;

	if (settings_read(&settings, NULL) != STATUS_OK)
		return 1;
	for (int i = 1; i < argc; i++)
		(void)json_array_append_new(list, read_one(argv[i], &settings));
	done = json_dumpf(list, stdout, JSON_COMPACT) == 0;
	json_decref(list);
	return done ? 0 : 1;
}
