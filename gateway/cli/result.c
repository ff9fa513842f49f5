#include "gateway/cli/result.h"

#include "gateway/cli/harvest.h"
#include "schema/event.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *
read_all(int fd)
{
	struct stat st;
	char *text;
	size_t length, done = 0;

	if (fstat(fd, &st) != 0 || st.st_size <= 0 ||
	    st.st_size > LIMIT_RESULT_BYTES)
		return NULL;
	length = (size_t)st.st_size;
	text = calloc(length + 1, 1);
	while (text != NULL && done < length) {
		ssize_t got =
		    pread(fd, text + done, length - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return text;
}

/* The part of it that says which packets were refused, if any was. */
static char *
find_packets(const json_t *object)
{
	json_t *packets = json_object_get(object, "packets_refused");
	json_int_t sum = 0;
	const char *key;
	json_t *value;

	json_object_foreach(packets, key, value)
	{
		sum += json_integer_value(value);
	}
	return sum > 0 ? json_dumps(packets, JSON_COMPACT) : NULL;
}

int
result_read(int fd, struct result *ret)
{
	struct result result = { .text = read_all(fd) };
	json_t *object;
	const char *end;
	int status = STATUS_MALFORMED;

	if (result.text == NULL)
		return STATUS_NOT_FOUND;
	object = json_loads(result.text, JSON_REJECT_DUPLICATES, NULL);
	end = json_string_value(json_object_get(object, "end"));
	if (end != NULL && strlen(end) < sizeof(result.end)) {
		memcpy(result.end, end, strlen(end) + 1);
		result.packets = find_packets(object);
		*ret = result;
		status = STATUS_OK;
	} else {
		free(result.text);
	}
	json_decref(object);
	return status;
}

void
result_done(struct result *result)
{
	free(result->text);
	free(result->packets);
	*result = (struct result){ .text = NULL };
}

/* Adds a value, which it takes; NULL counts as a failure. */
static bool
add(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0;
}

static bool
add_changes(json_t *object, const struct harvest *harvest)
{
	return add(object, "changes",
	    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "added",
		(json_int_t)harvest->added, "changed",
		(json_int_t)harvest->changed, "deleted",
		(json_int_t)harvest->deleted, "review",
		(json_int_t)harvest->review, "conflict",
		(json_int_t)harvest->conflicts, "dropped",
		(json_int_t)harvest->dropped, "applied",
		(json_int_t)harvest->applied, "held",
		(json_int_t)harvest->held));
}

static bool
add_run(json_t *object, const struct result_run *run)
{
	const struct event_closed *counts = run->counts;

	if (!add(object, "run", json_string(run->uid)) ||
	    !add(object, "audit", json_string(run->database)) ||
	    !add(object, "exit_code", json_integer(run->code)))
		return false;
	if (counts != NULL &&
	    (!add(object, "requests",
		 json_integer((json_int_t)counts->requests)) ||
		!add(object, "refused",
		    json_integer((json_int_t)counts->refused))))
		return false;
	if (run->harvest != NULL && run->harvest->known &&
	    !add_changes(object, run->harvest))
		return false;
	return run->problem == NULL ||
	       (add(object, "problem", json_string(run->problem->text)) &&
		   add(object, "problem_cure",
		       json_string(run->problem->cure)));
}

static bool
write_text(int fd, const char *text)
{
	size_t length = strlen(text), done = 0;

	if (ftruncate(fd, 0) != 0 && errno != EINVAL)
		return false;
	while (done < length) {
		ssize_t wrote = write(fd, text + done, length - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return write(fd, "\n", 1) == 1;
}

int
result_write(int fd, const struct result *result, const struct result_run *run,
    struct problem *reterr)
{
	json_t *object = NULL;
	char *text = NULL;
	int status = STATUS_OK;

	if (result->text != NULL)
		object = json_loads(result->text, 0, NULL);
	if (object == NULL)
		object = json_pack("{s:s}", "end", "launch_failed");
	if (object != NULL && add_run(object, run))
		text = json_dumps(object, JSON_INDENT(2));
	if (text == NULL)
		status = problem_set(reterr, "cannot put the result together");
	else if (!write_text(fd, text))
		status = problem_errno(reterr, "cannot write the result");
	free(text);
	json_decref(object);
	return status;
}
