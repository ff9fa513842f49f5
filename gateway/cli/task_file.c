/*
 * A file is read in two steps: first its keys, each of which must be known
 * where it stands, then the fields in the order of their table.  A template
 * is a file like any other, read before the one that names it, but says
 * neither where to work nor what to run.
 */
#include "gateway/cli/task_file.h"

#include "gateway/cli/owned.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/cli/task_field.h"
#include "gateway/cli/task_mount.h"
#include "policy/member.h"
#include "policy/report.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASK_VERSION 1
#define NUMBER_MAX 32 /* bytes of a number, as it is written */
#define NAMES_MAX 32 /* keys of one object */

struct reading {
	struct task *task;
	const struct report *report;
	const char *path; /* of the file */
	json_t *root;
	bool is_template;
};

/* ---- values ---- */

static void
tell(const struct reading *reading, const struct place *place,
    const struct problem *problem)
{
	report_add(reading->report, place, problem->cure, "%s", problem->text);
}

static void
tell_type(const struct reading *reading, const struct place *place,
    const char *what, const char *cure)
{
	report_add(reading->report, place, cure, "this must be %s", what);
}

static void
set(const struct reading *reading, const struct task_field *field,
    const char *value, const struct place *place)
{
	struct problem problem = { .text = "" };

	if (field->set(reading->task, field->what, value, &problem) !=
	    STATUS_OK)
		tell(reading, place, &problem);
}

static void
set_flag(const struct reading *reading, const struct task_field *field,
    json_t *value, const struct place *place)
{
	if (!json_is_boolean(value))
		tell_type(
		    reading, place, "true or false", "write true or false");
	else
		set(reading, field,
		    json_is_true(value) == field->reversed ? "false" : "true",
		    place);
}

static void
set_text(const struct reading *reading, const struct task_field *field,
    json_t *value, const struct place *place)
{
	const char *text = json_string_value(value);

	if (text == NULL || text[0] == '\0')
		tell_type(reading, place, "a text", "write a text in quotes");
	else
		set(reading, field, text, place);
}

/* As it was written, so that an option and a file are read alike. */
static void
set_number(const struct reading *reading, const struct task_field *field,
    json_t *value, const struct place *place)
{
	char text[NUMBER_MAX];
	size_t length;

	if (!json_is_number(value)) {
		tell_type(reading, place, "a number", "write it unquoted");
		return;
	}
	length = json_dumpb(value, text, sizeof(text) - 1,
	    JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	if (length >= sizeof(text))
		length = 0;
	text[length] = '\0';
	set(reading, field, text, place);
}

/* A path in a file is meant from where the file stands. */
static void
set_path(const struct reading *reading, const struct task_field *field,
    json_t *value, const struct place *place)
{
	struct task *task = reading->task;
	const char *text = json_string_value(value);
	char path[LIMIT_PATH];

	if (text == NULL || text[0] == '\0') {
		tell_type(reading, place, "a path", "write a path in quotes");
		return;
	}
	if (task->path_count >= TASK_PATHS ||
	    !owned_resolve(reading->path, text, path, sizeof(path))) {
		report_add(reading->report, place, "write a shorter one",
		    "this path is too long");
		return;
	}
	task->paths[task->path_count] = strdup(path);
	if (task->paths[task->path_count] == NULL)
		report_no_memory(reading->report);
	else
		set(reading, field, task->paths[task->path_count++], place);
}

typedef void set_one(const struct reading *, const struct task_field *,
    json_t *, const struct place *);

static void
set_each(const struct reading *reading, const struct task_field *field,
    json_t *value, const struct place *place, set_one *one)
{
	if (!json_is_array(value)) {
		tell_type(reading, place, "a list",
		    "write a list of texts, as in [\"a\", \"b\"]");
		return;
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		struct place at = { .above = place, .index = i };

		one(reading, field, json_array_get(value, i), &at);
	}
}

/* null is what is not said. */
static void
set_field(const struct reading *reading, const struct task_field *field,
    json_t *value, const struct place *place)
{
	if (value == NULL || json_is_null(value))
		return;
	switch (field->type) {
	case TASK_FLAG:
		set_flag(reading, field, value, place);
		break;
	case TASK_TEXT:
		set_text(reading, field, value, place);
		break;
	case TASK_NUMBER:
		set_number(reading, field, value, place);
		break;
	case TASK_PATH:
		set_path(reading, field, value, place);
		break;
	case TASK_TEXTS:
		set_each(reading, field, value, place, set_text);
		break;
	case TASK_POLICIES:
		if (json_is_array(value))
			set_each(reading, field, value, place, set_path);
		else
			set_path(reading, field, value, place);
		break;
	case TASK_TYPE_COUNT:
		break;
	}
}

/* ---- keys ---- */

/* What stands in a file and is no field. */
static const char *const top_names[] = { "$schema", "version", "note",
	"template", "command", "mounts" };
static const char *const env_names[] = { "set" };

struct names {
	const char *list[NAMES_MAX + 1];
	size_t count;
};

static void
add_name(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->list[i], name) == 0)
			return;
	if (names->count < NAMES_MAX)
		names->list[names->count++] = name;
}

/* The keys that may stand in object (NULL: at the top). */
static struct names
names_of(const char *object)
{
	struct names names = { .count = 0 };
	size_t count;
	const struct task_field *fields = task_fields(&count);

	for (size_t i = 0; i < count; i++) {
		const struct task_field *field = &fields[i];

		if (field->key == NULL)
			continue;
		if (object == NULL)
			add_name(&names,
			    field->object == NULL ? field->key : field->object);
		else if (field->object != NULL &&
			 strcmp(field->object, object) == 0)
			add_name(&names, field->key);
	}
	for (size_t i = 0;
	     object == NULL && i < sizeof(top_names) / sizeof(top_names[0]);
	     i++)
		add_name(&names, top_names[i]);
	if (object != NULL && strcmp(object, "env") == 0)
		add_name(&names, env_names[0]);
	return names;
}

static bool
is_object_name(const char *name)
{
	size_t count;
	const struct task_field *fields = task_fields(&count);

	for (size_t i = 0; i < count; i++)
		if (fields[i].object != NULL &&
		    strcmp(fields[i].object, name) == 0)
			return true;
	return false;
}

static void
check_keys(const struct reading *reading)
{
	struct names top = names_of(NULL);

	member_keys(reading->report, reading->root, NULL, top.list);
	for (size_t i = 0; i < top.count; i++) {
		struct place place = { .key = top.list[i] };
		struct names names = names_of(top.list[i]);
		json_t *value = json_object_get(reading->root, top.list[i]);

		if (value == NULL || !is_object_name(top.list[i]))
			continue;
		if (json_is_object(value))
			member_keys(reading->report, value, &place, names.list);
		else
			tell_type(reading, &place, "an object",
			    "write its keys in braces");
	}
}

static void
read_fields(const struct reading *reading)
{
	size_t count;
	const struct task_field *fields = task_fields(&count);

	for (size_t i = 0; i < count; i++) {
		const struct task_field *field = &fields[i];
		struct place above = { .key = field->object };
		struct place place = { .above = field->object == NULL ? NULL
								      : &above,
			.key = field->key };
		json_t *object = reading->root;

		if (field->key == NULL)
			continue;
		if (field->object != NULL)
			object = json_object_get(object, field->object);
		set_field(reading, field, json_object_get(object, field->key),
		    &place);
	}
}

/* ---- what has no option ---- */

static void
read_version(const struct reading *reading)
{
	struct place place = { .key = "version" };
	json_t *version = json_object_get(reading->root, "version");

	if (version == NULL)
		report_add(reading->report, NULL, "add \"version\": 1",
		    "a task says which version of the language it is "
		    "in");
	else if (!json_is_integer(version) ||
		 json_integer_value(version) != TASK_VERSION)
		report_add(reading->report, &place, "write 1",
		    "this build reads version 1 of the language only");
}

static void
read_texts(const struct reading *reading)
{
	static const char *const names[] = { "$schema", "note" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct place place = { .key = names[i] };
		json_t *value = json_object_get(reading->root, names[i]);

		if (value != NULL && !json_is_string(value))
			tell_type(reading, &place, "a text",
			    "write a text in quotes");
	}
}

/* Where to work and what to run is for the task itself. */
static void
check_template(const struct reading *reading)
{
	static const char *const names[] = { "template", "command",
		"workspace" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct place place = { .key = names[i] };

		if (json_object_get(reading->root, names[i]) != NULL)
			report_key(reading->report, &place,
			    "write it into the task",
			    "a template has no \"%s\"", names[i]);
	}
}

static void
read_command(const struct reading *reading)
{
	struct place place = { .key = "command" };
	struct task *task = reading->task;
	json_t *list = json_object_get(reading->root, "command");
	size_t count = json_array_size(list);

	if (list == NULL)
		return;
	if (!json_is_array(list) || count == 0 ||
	    count > LIMIT_PLAN_ARGUMENTS) {
		tell_type(reading, &place, "a list with a program in it",
		    "write, for example, [\"npm\", \"test\"]");
		return;
	}
	task->file_command = calloc(count + 1, sizeof(*task->file_command));
	if (task->file_command == NULL) {
		report_no_memory(reading->report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = &place, .index = i };
		const char *word = json_string_value(json_array_get(list, i));

		if (word == NULL || (i == 0 && word[0] == '\0'))
			tell_type(reading, &at, "a text",
			    "write every argument in quotes");
		task->file_command[i] = unconst(word == NULL ? "" : word);
	}
	task->command = task->file_command;
}

static void
read_variables(const struct reading *reading)
{
	struct place above = { .key = "env" };
	struct place place = { .above = &above, .key = "set" };
	json_t *value, *object = json_object_get(
			   json_object_get(reading->root, "env"), "set");
	const char *name;

	if (object != NULL && !json_is_object(object))
		tell_type(reading, &place, "an object",
		    "write {\"NAME\": \"value\"}");
	json_object_foreach(object, name, value)
	{
		struct place at = { .above = &place, .key = name };
		struct problem problem = { .text = "" };

		if (!json_is_string(value))
			tell_type(reading, &at, "a text", "write it in quotes");
		else if (variables_set(&reading->task->variables, name,
			     json_string_value(value), &problem) != STATUS_OK)
			tell(reading, &at, &problem);
	}
}

/* ---- whole files ---- */

static json_t *
parse(const struct report *report)
{
	json_error_t error;
	json_t *root;

	if (locate_depth(report->text) > LIMIT_JSON_DEPTH) {
		report_at(report, 0, 0,
		    "lists and objects stand more than %d deep in each "
		    "other",
		    LIMIT_JSON_DEPTH);
		return NULL;
	}
	root = json_loadb((const char *)report->text.at, report->text.left,
	    JSON_REJECT_DUPLICATES, &error);
	if (root == NULL)
		report_at(report, error.line < 0 ? 0 : (unsigned)error.line,
		    error.column < 0 ? 0 : (unsigned)error.column,
		    "this is not JSON: %s", error.text);
	else if (!json_is_object(root))
		report_at(report, 1, 1, "a task must be an object");
	return root;
}

static void
read_whole(const struct reading *reading)
{
	check_keys(reading);
	read_version(reading);
	read_texts(reading);
	if (reading->is_template)
		check_template(reading);
	else
		read_command(reading);
	read_fields(reading);
	read_variables(reading);
	task_mounts_read(
	    reading->task, reading->root, reading->path, reading->report);
}

/* One file, read and parsed; text and root are NULL where that failed. */
struct source {
	char path[LIMIT_PATH];
	struct cursor text;
	json_t *root;
	struct problems problems;
	struct report report;
};

/* Whether the name of what went wrong stands in it, as in "(ref.missing)". */
static bool
is_named(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

	for (const char *at = strchr(text, '('); at != NULL;
	     at = strchr(at + 1, '(')) {
		size_t area = strspn(at + 1, letters), name;

		if (area == 0 || at[1 + area] != '.')
			continue;
		name = strspn(at + 2 + area, letters);
		if (name > 0 && at[2 + area + name] == ')')
			return true;
	}
	return false;
}

/* What has no name of its own gets that of everything in a task. */
static void
add_named(
    const char *path, const struct problem *found, struct problems *reterr)
{
	struct problem problem = *found;
	size_t length = strlen(problem.text);

	if (!is_named(problem.text) &&
	    snprintf(problem.text + length, sizeof(problem.text) - length,
		" (task.invalid)") < 0)
		problem.text[length] = '\0';
	problems_add_in(reterr, path, &problem);
}

static void
source_done(struct source *source, struct problems *reterr)
{
	report_sort(&source->problems);
	for (size_t i = 0; i < source->problems.count; i++)
		add_named(source->path, &source->problems.list[i], reterr);
	reterr->dropped += source->problems.dropped;
	problems_done(&source->problems);
	free(unconst(source->text.at));
}

/* The root is kept by the task: it borrows its texts. */
static void
source_open(struct source *source, struct task *task)
{
	struct problem problem = { .text = "" };

	source->report = (struct report){ .problems = &source->problems };
	if (owned_read(source->path, LIMIT_TASK_BYTES, NULL, NULL,
		&source->text, &problem) != STATUS_OK) {
		problems_add(&source->problems, &problem);
		return;
	}
	source->report.text = source->text;
	source->root = parse(&source->report);
	if (source->root != NULL)
		task->documents[task->document_count++] = source->root;
}

/* A name is looked for among the templates, a path is one. */
static bool
find_template(const struct source *file, const struct settings *settings,
    struct source *template)
{
	struct place place = { .key = "template" };
	json_t *value = json_object_get(file->root, "template");
	const char *name = json_string_value(value);
	int length = 0;
	bool fits;

	if (value == NULL || json_is_null(value))
		return false;
	if (name == NULL || name[0] == '\0') {
		report_add(&file->report, &place, "write a name in quotes",
		    "this must be a template's name, or its path");
		return false;
	}
	fits = owned_resolve(
	    file->path, name, template->path, sizeof(template->path));
	if (strchr(name, '/') == NULL) {
		length = snprintf(template->path, sizeof(template->path),
		    "%s/%s.json", settings->templates, name);
		fits = length >= 0 && (size_t)length < sizeof(template->path);
	}
	if (fits && access(template->path, F_OK) == 0)
		return true;
	report_add(&file->report, &place, "write it, or leave this out",
	    "there is no template %.200s (ref.missing)",
	    fits ? template->path : name);
	return false;
}

static void
read_source(struct source *source, const struct reading *about)
{
	struct reading reading = *about;

	reading.report = &source->report;
	reading.path = source->path;
	reading.root = source->root;
	if (json_is_object(source->root))
		read_whole(&reading);
}

void
task_file_read(
    struct task *task, const struct settings *settings, struct problems *reterr)
{
	struct reading reading = { .task = task };
	struct source file = { .root = NULL }, template = { .root = NULL };

	if (strlen(task->file) >= sizeof(file.path))
		memcpy(file.path, "?", 2);
	else
		memcpy(file.path, task->file, strlen(task->file) + 1);
	source_open(&file, task);
	if (json_is_object(file.root) &&
	    find_template(&file, settings, &template)) {
		source_open(&template, task);
		reading.is_template = true;
		read_source(&template, &reading);
		source_done(&template, reterr);
	}
	reading.is_template = false;
	read_source(&file, &reading);
	source_done(&file, reterr);
}
