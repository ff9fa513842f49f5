/*
 * base64url - RFC 4648 section 5 without padding: what tokens are written in.
 *
 * Every string of bytes has exactly one spelling here: padding, blanks, other
 * characters, a lone last digit and bits left over behind the last byte are
 * refused, so that one token cannot be shown under two names.
 */
#ifndef SCHEMA_BASE64URL_H
#define SCHEMA_BASE64URL_H

#include "schema/cursor.h"

/* How many digits so many bytes have. */
#define BASE64URL_LENGTH(bytes) (((bytes)*4 + 2) / 3)

void base64url_write(struct cursor bytes, struct cursor_writer *out);

/*
 * Appends the bytes that text stands for; false when it is no such spelling,
 * and then what was appended means nothing.
 */
bool base64url_read(struct cursor text, struct cursor_writer *out) MUST_CHECK;

#endif
