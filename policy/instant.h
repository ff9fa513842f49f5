/*
 * instant - a point in time as RFC 3339 writes it.
 */
#ifndef POLICY_INSTANT_H
#define POLICY_INSTANT_H

#include "schema/attr.h"
#include "schema/cursor.h"

/*
 * "2026-03-01T09:00:00Z" or with an offset; *ret is in microseconds since
 * 1970.  STATUS_MALFORMED, also for a day that no month has.
 */
int instant_parse(struct cursor text, int64_t *ret) MUST_CHECK;

#define INSTANT_TEXT_MAX 32

/* In UTC, with its NUL. */
void instant_print(int64_t at_us, char out[INSTANT_TEXT_MAX]);

#endif
