/*
 * index - the rules that can concern a name or an address.
 *
 * One hash table of byte strings: a name, the names below which a wildcard
 * reaches, a range of addresses.  A question walks the labels from the right
 * and the prefix lengths in use, one probe each, so its cost follows from the
 * length of the name and not from the number of rules.
 */
#ifndef POLICY_INDEX_H
#define POLICY_INDEX_H

#include "policy/facts.h"
#include "policy/rule.h"

struct index;

/* Borrows the rules for its whole life.  NULL when there is no memory. */
struct index *index_new(const struct rule *rules, size_t count) MUST_CHECK;
void index_free(struct index *index);

/* target is the rank of the pattern that matched; see policy/rank. */
typedef void index_found(const struct rule *rule, uint32_t target, void *arg);

/* Every rule whose target is the facts' one; once for each of its patterns. */
void index_find_all(const struct index *index, const struct facts *facts,
    index_found *found, void *arg);

/*
 * The same without rules for other paths, once a path is known: but of those
 * that differ in their paths alone, one is always told.  Perhaps twice.
 */
void index_find(const struct index *index, const struct facts *facts,
    index_found *found, void *arg);

/*
 * Every rule with a pattern that covers this one, once for each; for review,
 * where the names that a pattern stands for are not known one by one.
 */
void index_find_wider(const struct index *index, const struct hostmatch *match,
    index_found *found, void *arg);
void index_find_wider_cidr(const struct index *index, const struct cidr *cidr,
    index_found *found, void *arg);

#endif
