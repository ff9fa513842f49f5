/*
 * visible - text from a peer, made safe to show to a person.
 *
 * Control bytes, bytes that are not UTF-8, characters that turn the direction
 * of text and such as have no width become \xNN, \uNNNN or \UNNNNNN, so
 * that what is shown is what is there and moves no cursor.
 */
#ifndef SCHEMA_VISIBLE_H
#define SCHEMA_VISIBLE_H

#include "schema/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that one byte of the text can become. */
#define VISIBLE_GROWTH 4

/* One UTF-8 sequence (RFC 3629), or false and the cursor stays. */
bool visible_take(struct cursor *from, uint32_t *ret) MUST_CHECK;

/* Writes text; gives the places it takes on a line. */
size_t visible_put(struct cursor_writer *out, struct cursor text);

#endif
