#include "gateway/cli/task_options.h"

#include "gateway/cli/task.h"
#include "gateway/cli/task_field.h"
#include "schema/status.h"

#include <assert.h>
#include <string.h>

/* One option as it was written. */
struct written {
	const struct task_field *field;
	const char *value; /* "true" for one that takes none */
};

/* "--name" or "--name=value"; *ret_value is NULL or what stands behind =. */
static const struct task_field *
find_field(const char *word, const char **ret_value)
{
	size_t length = strcspn(word, "="), count;
	const struct task_field *fields = task_fields(&count);

	for (size_t i = 0; i < count; i++) {
		if (fields[i].option == NULL ||
		    strlen(fields[i].option) != length ||
		    strncmp(fields[i].option, word, length) != 0)
			continue;
		*ret_value = word[length] == '=' ? word + length + 1 : NULL;
		return &fields[i];
	}
	return NULL;
}

/* Reads the option at argv[*at] and moves *at behind it. */
static int
read_one(char **argv, int *at, struct written *ret, struct problem *reterr)
{
	const char *value = NULL, *word = argv[(*at)++];
	const struct task_field *field = find_field(word, &value);

	if (field == NULL) {
		(void)problem_set(reterr, "run has no option %.80s", word);
		return problem_cure(reterr,
		    "see exeat run --help; options of the command itself "
		    "stand behind it");
	}
	if (field->type == TASK_FLAG && value != NULL)
		return problem_set(reterr, "%s takes no value", field->option);
	if (field->type == TASK_FLAG)
		value = "true";
	else if (value == NULL)
		value = argv[*at] == NULL ? NULL : argv[(*at)++];
	if (value == NULL || value[0] == '\0')
		return problem_set(reterr, "%s wants a value", field->option);
	*ret = (struct written){ field, value };
	return STATUS_OK;
}

/* Said with the name of the option, which its field does not know. */
static int
take(struct task *task, const struct written *one, struct problem *reterr)
{
	struct problem found = { .text = "" };
	int status;

	assert(one->field != NULL);
	status = one->field->set(task, one->field->what, one->value, &found);
	if (status == STATUS_OK)
		return STATUS_OK;
	if (strncmp(found.text, "--", 2) == 0)
		(void)problem_set(reterr, "%s", found.text);
	else
		(void)problem_set(
		    reterr, "%s: %s", one->field->option, found.text);
	return found.cure[0] == '\0' ? status
				     : problem_cure(reterr, "%s", found.cure);
}

static bool
has_more(int argc, char **argv, int at)
{
	return at < argc && argv[at][0] == '-' && strcmp(argv[at], "--") != 0;
}

/* The last one stands; what does not read is told by the second reading. */
const char *
task_options_file(int argc, char **argv)
{
	struct written one = { .field = NULL };
	const char *file = NULL;
	int at = 0;

	while (has_more(argc, argv, at)) {
		if (read_one(argv, &at, &one, NULL) != STATUS_OK)
			return NULL;
		if (one.field != NULL &&
		    strcmp(one.field->option, "--task") == 0)
			file = one.value;
	}
	return file;
}

void
task_options_read(
    struct task *task, int argc, char **argv, struct problems *reterr)
{
	struct written one = { .field = NULL };
	struct problem problem = { .text = "" };
	int at = 0;

	while (!task->help && has_more(argc, argv, at)) {
		if (read_one(argv, &at, &one, &problem) != STATUS_OK) {
			problems_add(reterr, &problem);
			return;
		}
		if (take(task, &one, &problem) != STATUS_OK)
			problems_add(reterr, &problem);
	}
	if (at < argc && strcmp(argv[at], "--") == 0)
		at++;
	if (at < argc || task->command == NULL)
		task->command = argv + at;
	if (task->help || task->command[0] != NULL ||
	    (task->file != NULL && problems_any(reterr)))
		return;
	(void)problem_set(&problem, "no command is named");
	(void)problem_cure(
	    &problem, "as in: exeat run --policy p.json -- npm test");
	problems_add(reterr, &problem);
}
