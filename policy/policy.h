/*
 * policy - one compiled layer: its rules, and the index that finds them.
 *
 * Immutable once made, and counted: whoever keeps a verdict keeps a
 * reference.  document_load() makes one; without a rule it denies everything.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "policy/rule.h"
#include "schema/attr.h"

#include <stddef.h>
#include <stdint.h>

struct index;
struct policy;

/*
 * Takes rules, an array of count from malloc, also on failure, and copies
 * name.  NULL when there is no memory.
 */
struct policy *policy_new(const char *name, struct rule *rules, size_t count)
    MUST_CHECK;

/*
 * Says which text it was made of, before it is shared: rows name a policy by
 * its SHA-256.
 */
#define POLICY_DIGEST 32
void policy_stamp(struct policy *policy, const uint8_t sha256[POLICY_DIGEST]);

/* NULL when nobody said; borrows from policy. */
const uint8_t *policy_digest(const struct policy *policy);

/* How much all its rules together let through; before it is shared. */
void policy_set_quota(struct policy *policy, const struct quota *quota);
const struct quota *policy_quota(const struct policy *policy);

/* Counting does not change what a policy says, so it may be const. */
const struct policy *policy_ref(const struct policy *policy);
void policy_unref(const struct policy *policy);

/* What the document calls itself, else what its reader called it. */
const char *policy_name(const struct policy *policy);
size_t policy_rule_count(const struct policy *policy);
const struct rule *policy_rule(const struct policy *policy, size_t number);

/* Borrows from policy. */
const struct index *policy_index(const struct policy *policy);

#endif
