#include "gateway/cli/task_mount.h"

#include "gateway/cli/owned.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/files/target.h"
#include "policy/member.h"
#include "policy/report.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- sources ---- */

static int
check_kind(const char *path, struct problem *reterr)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return problem_errno(
		    reterr, "cannot open %s (mount.source)", path);
	if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
		return STATUS_OK;
	if (S_ISLNK(st.st_mode)) {
		(void)problem_set(reterr,
		    "%s is a link, which could lead elsewhere by the time it "
		    "is mounted (mount.source)",
		    path);
		return problem_cure(reterr, "name what it leads to");
	}
	return problem_set(reterr,
	    "%s is neither a file nor a directory (mount.source)", path);
}

/* Where programs keep a person's keys, below the home directory. */
static const char *const secret_places[] = { ".ssh", ".aws", ".azure",
	".config/gcloud", ".config/gh", ".docker", ".git-credentials", ".gnupg",
	".kube", ".netrc", ".npmrc", ".pypirc", ".vault-token" };

static int
check_secrets(const char *path, const char *what, const char *home,
    struct problem *reterr)
{
	char secret[ABSPATH_MAX];
	struct stat st;

	for (size_t i = 0; i < sizeof(secret_places) / sizeof(secret_places[0]);
	     i++) {
		int length = snprintf(
		    secret, sizeof(secret), "%s/%s", home, secret_places[i]);

		if (length < 0 || (size_t)length >= sizeof(secret) ||
		    lstat(secret, &st) != 0)
			continue;
		if (!abspath_is_within(secret, path) &&
		    !abspath_is_within(path, secret))
			continue;
		(void)problem_set(reterr,
		    "%s %s holds credentials, or is among them, in %s "
		    "(mount.source)",
		    what, path, secret);
		return problem_cure(reterr,
		    "name a folder without them; rules with \"credential\" "
		    "put keys into requests");
	}
	return STATUS_OK;
}

/* What holds a person's keys is not handed to a sandbox whole. */
int
task_mount_check(const char *path, const char *what,
    const struct settings *settings, struct problem *reterr)
{
	struct abspath home;
	bool known = settings->home[0] == '/' &&
		     abspath_of(settings->home, true, &home, NULL) == STATUS_OK;

	if (strcmp(path, "/") == 0 ||
	    (known && abspath_is_within(home.path, path))) {
		(void)problem_set(reterr,
		    "%s %s holds the home directory, with all its keys "
		    "(mount.source)",
		    what, path);
		return problem_cure(reterr, "name one project's folder%s",
		    strcmp(what, "the workspace") == 0 ? ": --workspace DIR"
						       : "");
	}
	return known ? check_secrets(path, what, home.path, reterr) : STATUS_OK;
}

/* ---- targets ---- */

static int
check_target(const struct task *task, const char *at, struct problem *reterr)
{
	const char *fault = target_fault(at);

	if (fault != NULL) {
		(void)problem_set(
		    reterr, "%.200s %s (mount.target)", at, fault);
		return problem_cure(reterr, "choose another folder");
	}
	for (size_t i = 0; i < task->mount_count; i++)
		if (strcmp(task->mounts[i].at, at) == 0)
			return problem_set(reterr,
			    "two mounts have the target %.200s (mount.target)",
			    at);
	for (size_t i = 0; i < task->scratch_count; i++)
		if (strcmp(task->scratch[i].at, at) == 0)
			return problem_set(reterr,
			    "two mounts have the target %.200s (mount.target)",
			    at);
	return STATUS_OK;
}

static int
add_mount(struct task *task, const char *source, const char *at, bool writable,
    struct problem *reterr)
{
	struct task_mount *mount;
	struct abspath place;
	int status;

	if (task->mount_count >= LIMIT_MOUNTS)
		return problem_set(
		    reterr, "more than %d mounts are named", LIMIT_MOUNTS);
	status = check_kind(source, reterr);
	if (status == STATUS_OK)
		status = abspath_of(source, false, &place, reterr);
	if (status == STATUS_OK)
		status =
		    check_target(task, at == NULL ? place.path : at, reterr);
	if (status != STATUS_OK)
		return status;
	mount = &task->mounts[task->mount_count++];
	mount->source = strdup(place.path);
	mount->at = strdup(at == NULL ? place.path : at);
	mount->writable = writable;
	if (mount->source == NULL || mount->at == NULL)
		return problem_set(reterr, "there is no memory for a mount");
	return STATUS_OK;
}

static int
add_scratch(
    struct task *task, const char *at, const char *size, struct problem *reterr)
{
	struct task_scratch *scratch = &task->scratch[task->scratch_count];
	int status = check_target(task, at, reterr);

	if (status != STATUS_OK)
		return status;
	if (task->scratch_count >= LIMIT_MOUNTS)
		return problem_set(
		    reterr, "more than %d mounts are named", LIMIT_MOUNTS);
	if (!share_bytes(size, &scratch->bytes)) {
		(void)problem_set(reterr, "%.40s is no size", size);
		return problem_cure(reterr, "write, for example, 2GiB");
	}
	scratch->at = strdup(at);
	if (scratch->at == NULL)
		return problem_set(reterr, "there is no memory for a mount");
	task->scratch_count++;
	return STATUS_OK;
}

/* ---- options ---- */

/* What stands between colons: SOURCE, then AT, then ro or rw. */
struct mount_words {
	char source[ABSPATH_MAX], at[ABSPATH_MAX];
	bool writable;
};

static bool
copy_word(struct cursor word, char *out)
{
	if (word.left >= ABSPATH_MAX)
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

int
task_mount_take(struct task *task, const char *text, struct problem *reterr)
{
	struct mount_words words;

	if (split_mount(text, &words))
		return add_mount(task, words.source,
		    words.at[0] == '\0' ? NULL : words.at, words.writable,
		    reterr);
	(void)problem_set(reterr, "%.80s does not read as a mount", text);
	return problem_cure(
	    reterr, "write SOURCE, SOURCE:/AT or SOURCE:/AT:rw");
}

/* ---- task files ---- */

/* A text of an object; NULL when it is none, which is told. */
static const char *
text_of(json_t *object, const char *key, const struct place *above,
    const struct report *report)
{
	struct place place = { .above = above, .key = key };
	json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);

	if (text != NULL && text[0] != '\0')
		return text;
	report_add(report, value == NULL ? above : &place,
	    "write a text in quotes", "\"%s\" must be a text", key);
	return NULL;
}

static void
tell(const struct report *report, const struct place *place,
    const struct problem *problem)
{
	report_add(report, place, problem->cure, "%s", problem->text);
}

static void
read_scratch(struct task *task, json_t *object, const struct place *place,
    const struct report *report)
{
	static const char *const names[] = { "tmpfs", "size", NULL };
	const char *at = text_of(object, "tmpfs", place, report);
	const char *size = text_of(object, "size", place, report);
	struct problem problem = { .text = "?" };

	member_keys(report, object, place, names);
	if (at != NULL && size != NULL &&
	    add_scratch(task, at, size, &problem) != STATUS_OK)
		tell(report, place, &problem);
}

/* Read-only unless it is said to be otherwise. */
static bool
is_writable(
    json_t *object, const struct place *above, const struct report *report)
{
	static const char *const words[] = { "ro", "rw", NULL };
	struct place place = { .above = above, .key = "access" };
	json_t *value = json_object_get(object, "access");

	return value != NULL && member_word(report, value, &place, words,
				    "write \"ro\" or \"rw\"") == 1;
}

static void
read_bound(struct task *task, json_t *object, const char *file,
    const struct place *place, const struct report *report)
{
	static const char *const names[] = { "source", "at", "access", NULL };
	const char *source = text_of(object, "source", place, report);
	const char *at = json_object_get(object, "at") == NULL
			     ? NULL
			     : text_of(object, "at", place, report);
	bool writable = is_writable(object, place, report);
	struct problem problem = { .text = "?" };
	char path[LIMIT_PATH];

	member_keys(report, object, place, names);
	if (source == NULL)
		return;
	if (!owned_resolve(file, source, path, sizeof(path)))
		(void)problem_set(&problem, "a path is too long");
	else if (add_mount(task, path, at, writable, &problem) == STATUS_OK)
		return;
	tell(report, place, &problem);
}

void
task_mounts_read(struct task *task, struct json_t *root, const char *path,
    const struct report *report)
{
	struct place above = { .key = "mounts" };
	json_t *list = json_object_get(root, "mounts");

	if (list != NULL && !json_is_array(list))
		report_add(report, &above,
		    "write [{\"source\": \"./data\", \"at\": \"/data\"}]",
		    "this must be a list");
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct place place = { .above = &above, .index = i };
		json_t *object = json_array_get(list, i);

		if (!json_is_object(object))
			report_add(report, &place,
			    "write {\"source\": \"./data\"}",
			    "this must be an object");
		else if (json_object_get(object, "tmpfs") != NULL)
			read_scratch(task, object, &place, report);
		else
			read_bound(task, object, path, &place, report);
	}
}
