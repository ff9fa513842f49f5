/*
 * unified - the difference of two texts, as diff -u shows it.
 *
 * The shortest one (Myers, 1986) up to LIMIT_DIFF_EDITS lines that differ;
 * beyond that what lies between the common beginning and end is shown as
 * replaced.  Lines go through a callback, because some of them came from a
 * sandbox and not every reader takes them as they are.
 */
#ifndef GATEWAY_FILES_UNIFIED_H
#define GATEWAY_FILES_UNIFIED_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdbool.h>

/* A line without its end; mark is ' ', '-' or '+', '@' for the line that
 * begins a hunk, '\\' for the remark that a text has no last line end. */
typedef void unified_line(char mark, struct cursor line, void *arg);

/* Whether it reads as text: no NUL in its beginning. */
bool unified_is_text(struct cursor bytes);

/* STATUS_NO_MEMORY when there is none. */
int unified_print(struct cursor from, struct cursor to, unified_line *call,
    void *arg) MUST_CHECK;

#endif
