/*
 * markup - HTML text to a stream, escaped.
 *
 * What a sandbox chose goes through markup_text() or markup_cell() only: no
 * character of it can open a tag, end an attribute, turn the direction of the
 * text or hide.
 */
#ifndef GATEWAY_AUDIT_MARKUP_H
#define GATEWAY_AUDIT_MARKUP_H

#include "schema/cursor.h"

#include <stdint.h>
#include <stdio.h>

struct query_cell;

/* Text of ours. */
void markup_raw(FILE *out, const char *text);
/* Text of anybody. */
void markup_text(FILE *out, struct cursor text);
void markup_cell(FILE *out, const struct query_cell *cell);

/* "1,234" and "1.2 MB". */
void markup_count(FILE *out, int64_t count);
void markup_bytes(FILE *out, int64_t bytes);

#endif
