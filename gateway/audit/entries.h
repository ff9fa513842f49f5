/*
 * entries - the dictionary rows of the segment that is being written.
 *
 * What a row names, a host, a rule, a credential, is an entry with an id; one
 * that is not there yet is made.  entries_begin() begins a transaction,
 * entries_forget() drops what was made since.
 */
#ifndef GATEWAY_AUDIT_ENTRIES_H
#define GATEWAY_AUDIT_ENTRIES_H

#include "gateway/audit/leaf.h"

#include <stdint.h>

struct earlier;
struct entries;
struct event;
struct segment;
struct store_policy;
struct store_run;

/* 0 where a row has none; keys are what they stand for. */
struct entry_ids {
	int64_t principal, policy, rule, dst, cred;
	struct leaf_keys keys;
};

/* Borrows both.  NULL when there is no memory or the file does not answer. */
struct entries *entries_new(struct segment *segment, struct earlier *earlier)
    MUST_CHECK;
void entries_free(struct entries *entries);

void entries_begin(struct entries *entries);
void entries_forget(struct entries *entries);

int entries_add_policy(
    struct entries *entries, const struct store_policy *policy) MUST_CHECK;

/* What the row of event names; run may be NULL.  keys borrow from both. */
int entries_find(struct entries *entries, const struct store_run *run,
    const struct event *event, struct entry_ids *ret) MUST_CHECK;

#endif
