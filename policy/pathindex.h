/*
 * pathindex - which of many rules can match a path, by what stands before
 * the first wildcard of theirs.
 *
 * Made for the rules of one host.  A question costs one look for each length
 * that such a beginning has, not one for each rule.
 */
#ifndef POLICY_PATHINDEX_H
#define POLICY_PATHINDEX_H

#include "policy/rule.h"

struct pathindex;

/* One of the rules, at its place in the caller's list. */
struct pathindex_item {
	const struct rule *rule;
	uint32_t place;
};

/*
 * Borrows the rules for its whole life, and the items for the call, which
 * are put in another order.  NULL when there is no memory.
 */
struct pathindex *pathindex_new(struct pathindex_item *items, size_t count)
    MUST_CHECK;
void pathindex_free(struct pathindex *index);

typedef void pathindex_found(uint32_t place, void *arg);

/*
 * Every rule that states no path or has one that may match, perhaps twice;
 * and of those that ask the same but for their paths, whatever these are, the
 * one whose id is first: it tells what would have been answered elsewhere.
 */
void pathindex_find(const struct pathindex *index, struct cursor path,
    pathindex_found *found, void *arg);

#endif
