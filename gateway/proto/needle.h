/*
 * needle - given strings found in a stream, in all their encodings and across
 * every cut.
 *
 * Each string is looked for as it is, percent-encoded in whole or in part,
 * escaped as in JSON, and in base64 of either alphabet at each of the three
 * places that it can have in a group, so also inside a Basic credential.
 *
 * All strings are searched for at once, by one automaton over each of three
 * readings of the stream.  The work is linear in the stream, whatever it
 * says: nothing is ever read again.
 */
#ifndef GATEWAY_PROTO_NEEDLE_H
#define GATEWAY_PROTO_NEEDLE_H

#include "schema/attr.h"
#include "schema/cursor.h"

/* What is searched for; serves any number of searches. */
struct needles;

/*
 * Copies the strings.  With fold letters count the same in both cases, for
 * names.  NULL for none, for more than LIMIT_NEEDLES, for one shorter than
 * LIMIT_NEEDLE_LEAST or longer than LIMIT_NEEDLE, or without memory.
 */
struct needles *needles_new(const struct cursor *list, size_t count, bool fold)
    MUST_CHECK;

/* Wipes what it has copied.  NULL is fine. */
void needles_free(struct needles *needles);

/* One search in one stream. */
struct needle;

/* Borrows needles, which must outlive it.  NULL without memory. */
struct needle *needle_new(const struct needles *needles) MUST_CHECK;
void needle_free(struct needle *needle);

/* Begins another stream. */
void needle_reset(struct needle *needle);

struct needle_hit {
	size_t which; /* in the list */
	bool plain; /* it stands there as it is */
	uint64_t begin, end; /* places in the stream, from 0 */
};

/*
 * Takes bytes from in up to the end of the next hit, or all.  Hits never
 * overlap and their places rise.
 */
bool needle_find(
    struct needle *needle, struct cursor *in, struct needle_hit *ret);

/*
 * How many of the last bytes taken may be the beginning of a hit: who changes
 * what it finds must not let go of them yet.
 */
size_t needle_held(const struct needle *needle);

/* Whether any of them is in text that is there as a whole. */
bool needle_is_in(
    struct needle *needle, struct cursor text, struct needle_hit *ret);

#endif
