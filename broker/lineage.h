/*
 * lineage - the tokens of one run that are not over yet, and what they descend
 * from.
 *
 * A token that is not here is worth nothing, however well it is signed.  One
 * that is revoked takes along everything that descends from it.  A child never
 * ends later than its parent, so a parent is here as long as its children are.
 */
#ifndef BROKER_LINEAGE_H
#define BROKER_LINEAGE_H

#include "schema/token.h"

struct lineage;

struct lineage_entry {
	struct token token;
	const struct lineage_entry *parent; /* NULL: a root */
	bool revoked;
	struct lineage_entry *next; /* which was made later */
};

struct lineage *lineage_new(void) MUST_CHECK;
void lineage_free(struct lineage *lineage);

/*
 * Copies it.  STATUS_FULL for more than LIMIT_TOKENS, STATUS_NOT_FOUND when
 * its parent is not here, STATUS_REFUSED when that was revoked or ends
 * earlier, STATUS_NO_MEMORY.
 */
int lineage_add(struct lineage *lineage, const struct token *token) MUST_CHECK;

/* NULL: it was never made, or is over.  Borrows. */
const struct lineage_entry *lineage_find(
    const struct lineage *lineage, const char *id);

/* The first in the order they were made; their next goes on. */
const struct lineage_entry *lineage_first(const struct lineage *lineage);

/*
 * Revokes it and all that descend from it; gives how many were not revoked
 * before.  STATUS_NOT_FOUND.
 */
int lineage_revoke(struct lineage *lineage, const char *id, size_t *ret)
    MUST_CHECK;

/* Forgets what is over. */
void lineage_expire(struct lineage *lineage, int64_t now_s);

#endif
