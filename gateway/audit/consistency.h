/*
 * consistency - the proof that one checkpoint is the beginning of a later one.
 *
 * RFC 9162 section 2.1.4: with it and the public key, whoever kept the first
 * sees that nothing signed by it was changed or removed before the second,
 * and needs neither the database nor us.
 */
#ifndef GATEWAY_AUDIT_CONSISTENCY_H
#define GATEWAY_AUDIT_CONSISTENCY_H

#include "gateway/audit/checkpoint.h"
#include "gateway/audit/merkle.h"
#include "schema/problem.h"

struct query;

struct consistency {
	struct merkle_path path;
	int64_t from, to; /* sizes, in blocks */
	char from_note[CHECKPOINT_NOTE], to_note[CHECKPOINT_NOTE];
};

/*
 * to is 0 for the newest checkpoint.  STATUS_NOT_FOUND, with a problem, when
 * there is no checkpoint of a size, or its segment was pruned.  The proof is
 * made, not checked: a file that was changed gives one that fails.
 */
int consistency_make(struct query *query, int64_t from, int64_t to,
    struct consistency *ret, struct problem *reterr) MUST_CHECK;

#endif
