/*
 * secret - bytes that nobody else is to see.
 *
 * They lie in pages of their own, which are never swapped out or written to a
 * core, and are wiped before they are given back.  There is no printer, and no
 * comparison that takes longer the more of a guess is right.
 */
#ifndef SCHEMA_SECRET_H
#define SCHEMA_SECRET_H

#include "schema/cursor.h"

struct secret;

/*
 * Copies the bytes.  NULL when they are more than LIMIT_SECRET, or there is no
 * memory that may be locked (RLIMIT_MEMLOCK).
 */
struct secret *secret_new(struct cursor bytes) MUST_CHECK;

/* Room for length bytes, all zero: for what is read or put together in place.
 */
struct secret *secret_room(size_t length) MUST_CHECK;

/* NULL is fine. */
void secret_free(struct secret *secret);

/* Borrows from secret. */
struct cursor secret_bytes(const struct secret *secret);

/* Where secret_room() has made room; secret_shorten() keeps the first bytes. */
unsigned char *secret_fill(struct secret *secret);
void secret_shorten(struct secret *secret, size_t length);

/* Takes the same time for every guess of this length. */
bool secret_equals(const struct secret *secret, struct cursor guess) MUST_CHECK;

/* Whether all of it could stand in a header field: no control byte. */
bool secret_is_text(const struct secret *secret);

#endif
