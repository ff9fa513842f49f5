/*
 * toolrc - configuration files of other tools, read line by line.
 *
 * They are files of the system or of the user outside the sandbox; what is
 * not there, not a file, or larger than any such file is passed over.
 */
#ifndef GATEWAY_CLI_TOOLRC_H
#define GATEWAY_CLI_TOOLRC_H

#include "schema/cursor.h"

/* The whole text of a file, to be freed; NULL when it cannot be read. */
char *toolrc_read(const char *path, struct cursor *ret) MUST_CHECK;

/* Takes the next line without its end; false when there is none. */
bool toolrc_line(struct cursor *text, struct cursor *ret) MUST_CHECK;

/* Takes the next word, of what stands between blanks and tabs. */
bool toolrc_word(struct cursor *line, struct cursor *ret) MUST_CHECK;

/* Splits "key = value" at the first "=" and takes off blanks and quotes. */
bool toolrc_pair(struct cursor line, struct cursor *ret_key,
    struct cursor *ret_value) MUST_CHECK;

/* Moves text behind the next place where found stands; false if nowhere. */
bool toolrc_find(struct cursor *text, const char *found) MUST_CHECK;

#endif
