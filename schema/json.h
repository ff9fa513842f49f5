/*
 * json - JSON text written into a cursor_writer; it reads nothing.
 *
 * Commas are its business, brackets too as long as every open has its close.
 * Bytes that are not UTF-8 are written as U+FFFD, so what comes out is always
 * valid JSON (RFC 8259), whatever a peer sent.
 *
 * Jansson has functions named json_string and json_null, and a program's own
 * of that name would take their place inside that library: hence json_text
 * and json_none here.
 */
#ifndef SCHEMA_JSON_H
#define SCHEMA_JSON_H

#include "schema/cursor.h"

struct json {
	struct cursor_writer *out;
	bool comma; /* the next value has one before it */
};

struct json json_to(struct cursor_writer *out);

/*
 * key is NULL in an array and at the top.  Literal keys only: they are not
 * checked, but escaped like values.
 */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_text(struct json *j, const char *key, const char *value);
void json_bytes(struct json *j, const char *key, struct cursor value);
void json_number(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_none(struct json *j, const char *key);

/* value is JSON text already. */
void json_verbatim(struct json *j, const char *key, const char *value);

#endif
