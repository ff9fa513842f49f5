/*
 * manifest - the tables of a segment, and how each is told to the fleet.
 *
 * send is asked of the segment.  Its parameters are base, where this audit's
 * numbers begin; ids, where those of this segment do; after and last, the
 * bounds of what is sent: rows, ids, or numbers of blocks.
 */
#ifndef GATEWAY_SHIP_MANIFEST_H
#define GATEWAY_SHIP_MANIFEST_H

#include <stddef.h>

/* What after and last count. */
enum manifest_bound {
	MANIFEST_ONCE, /* nothing: all of it, with the first batch */
	MANIFEST_ALWAYS, /* nothing: all of it, with each */
	MANIFEST_ID, /* what has come since; ids are the segment's */
	MANIFEST_SEQ, /* what belongs to these rows */
};

struct manifest {
	const char *table;
	enum manifest_bound bound;
	const char *send;
	const char *conflict; /* what is done with a row that is there */
};

/* In an order in which nothing points to what has not come yet. */
const struct manifest *manifest_tables(size_t *ret_count);

/* What is asked of the fleet to get a table of a segment back; $1 is base,
 * $2 ids.  In the columns of the segment. */
struct manifest_back {
	const char *table, *ask;
};
const struct manifest_back *manifest_back(size_t *ret_count);

#endif
