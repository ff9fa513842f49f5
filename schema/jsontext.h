/*
 * jsontext - whether bytes are one JSON object; it keeps nothing of them.
 *
 * Stricter than RFC 8259 where our own writers never go: no blank but the
 * space, no escaped surrogate, at most LIMIT_JSON_DEPTH levels.  Whether the
 * bytes are UTF-8 is not asked.
 */
#ifndef SCHEMA_JSONTEXT_H
#define SCHEMA_JSONTEXT_H

#include "schema/cursor.h"

bool jsontext_is_object(struct cursor text) MUST_CHECK;

#endif
