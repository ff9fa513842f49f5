/*
 * pieces - a list of regions, each with the rules that open it.
 *
 * Each piece is owned by its list.  Where a list would get longer than
 * LIMIT_REGIONS the answer is STATUS_FULL: then nobody can tell what is in it,
 * and who asked must say so.  STATUS_NO_MEMORY of all that make pieces.
 */
#ifndef POLICY_PIECES_H
#define POLICY_PIECES_H

#include "policy/region.h"
#include "schema/limits.h"

/* One piece, and the rules that open it: one of each layer. */
struct piece {
	struct region region;
	const struct rule *openers[LIMIT_LAYERS];
	size_t layers;
};

struct pieces {
	struct piece **list;
	size_t count, room;
};

/* Leaves an empty list, which is all zeroes. */
void pieces_done(struct pieces *pieces);

/* Adds a copy of region, opened by the rules of from, or by none if NULL. */
int pieces_add(struct pieces *pieces, const struct region *region,
    const struct piece *from) MUST_CHECK;

/* Adds copies of all pieces of from. */
int pieces_copy(const struct pieces *from, struct pieces *to) MUST_CHECK;

/* Takes a rule's attempts from all pieces. */
int pieces_subtract(struct pieces *pieces, const struct rule *rule) MUST_CHECK;

/* Adds to a list what of all pieces is among a rule's attempts. */
int pieces_meet(const struct pieces *pieces, const struct rule *rule,
    struct pieces *to) MUST_CHECK;

#endif
