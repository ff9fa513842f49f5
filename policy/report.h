/*
 * report - where the problems of one document go, each with its place.
 */
#ifndef POLICY_REPORT_H
#define POLICY_REPORT_H

#include "policy/locate.h"
#include "schema/problem.h"

struct report {
	struct cursor text; /* the whole document */
	struct problems *problems;
};

/* Says what is wrong at a place (NULL: the whole) and what to do instead. */
void report_add(const struct report *report, const struct place *place,
    const char *cure, const char *format, ...) PRINTF_LIKE(4, 5);

/* The same for a key that should not be there. */
void report_key(const struct report *report, const struct place *place,
    const char *cure, const char *format, ...) PRINTF_LIKE(4, 5);

/* The same where the JSON itself went wrong; line and column from 1, or 0. */
void report_at(const struct report *report, unsigned line, unsigned column,
    const char *format, ...) PRINTF_LIKE(4, 5);

void report_no_memory(const struct report *report);

/* How many were reported so far, kept or not. */
size_t report_count(const struct report *report);

/* In the order of the document. */
void report_sort(struct problems *problems);

#endif
