/*
 * problem - a failure told to a person: what is wrong, and what to do instead.
 *
 * struct problem is one failure in a caller's buffer; no allocation, so that
 * it can be told when memory is what failed.  struct problems is the list of
 * everything wrong with one document, in the order found.
 */
#ifndef SCHEMA_PROBLEM_H
#define SCHEMA_PROBLEM_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>

#define PROBLEM_TEXT_MAX 400
#define PROBLEM_CURE_MAX 300
#define PROBLEM_PATH_MAX 160

struct problem {
	char
	    text[PROBLEM_TEXT_MAX]; /* what is wrong, one sentence, no period */
	char cure[PROBLEM_CURE_MAX]; /* what to do instead; may be empty */
	char path[PROBLEM_PATH_MAX]; /* JSON path ("$.rules[3].host"), or empty
				      */
	unsigned line, column; /* from 1; 0 where there is no place */
};

/* Fills *reterr (which may be NULL) and returns STATUS_PROBLEM. */
int problem_set(struct problem *reterr, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* The same, with ": " and the words for errno behind it. */
int problem_errno(struct problem *reterr, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* Adds what to do instead; returns STATUS_PROBLEM, to be returned onward. */
int problem_cure(struct problem *reterr, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* At most LIMIT_PROBLEMS are kept; beyond it they are only counted. */
struct problems {
	struct problem *list;
	size_t count; /* how many stand in the list */
	size_t dropped; /* how many more there were */
};

/* An empty list is all zeroes; problems_done takes it too. */
void problems_done(struct problems *problems);

/*
 * Copies one problem in.  A list that cannot grow drops it and counts it, so
 * "no problems" is never told by mistake: see problems_any.
 */
void problems_add(struct problems *problems, const struct problem *problem);

/*
 * The same, said of a file as a compiler says it, "FILE:3:5: ...", so that
 * editors find the place.
 */
void problems_add_in(
    struct problems *problems, const char *file, const struct problem *problem);

bool problems_any(const struct problems *problems);

#endif
