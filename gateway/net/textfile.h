/*
 * textfile - the whole of a small file of the machine's settings.
 */
#ifndef GATEWAY_NET_TEXTFILE_H
#define GATEWAY_NET_TEXTFILE_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdbool.h>
#include <stddef.h>

struct problem;

/*
 * Gives what path holds, to be freed by free(), and its length; a file that
 * does not exist is an empty one.  STATUS_PROBLEM when it cannot be read or
 * has more than limit bytes: *reterr tells why.
 */
int textfile_read(const char *path, size_t limit, char **ret_text,
    size_t *ret_length, struct problem *reterr) MUST_CHECK;

/* The next line, without its end; false when there is none. */
bool textfile_line(struct cursor *text, struct cursor *ret) MUST_CHECK;

/* The next word of a line; false at its end, or at a comment. */
bool textfile_word(struct cursor *line, struct cursor *ret) MUST_CHECK;

#endif
