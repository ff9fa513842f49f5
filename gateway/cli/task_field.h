/*
 * task_field - what can be said of a run, as an option and in a task file.
 *
 * One row a field: how the option is called, where it stands in a file, and
 * the one function that takes its value as text, whoever wrote it.  What a
 * function says of a wrong value names neither: its caller knows the place.
 */
#ifndef GATEWAY_CLI_TASK_FIELD_H
#define GATEWAY_CLI_TASK_FIELD_H

#include "schema/problem.h"

#include <stdbool.h>
#include <stddef.h>

struct task;

/* How its value is written. */
enum task_type {
	TASK_FLAG, /* no value; true or false in a file */
	TASK_TEXT,
	TASK_NUMBER, /* a text too, that is a number in a file */
	TASK_PATH, /* from where the file stands */
	TASK_TEXTS, /* once each; a list in a file */
	TASK_POLICIES, /* paths, and in a file one may stand alone */
	TASK_TYPE_COUNT
};

struct task_field {
	const char *option; /* NULL: only in a file */
	/* The object it stands in; NULL: the top; key NULL: in no file. */
	const char *object, *key;
	enum task_type type;
	int (*set)(struct task *task, int what, const char *value,
	    struct problem *reterr);
	int what; /* for a function with several fields */
	/* In a file, true means that the option is not there. */
	bool reversed;
};

/* Gives the table. */
const struct task_field *task_fields(size_t *ret_count);

#endif
