/*
 * inclusion - the proof that one row stands under a signed checkpoint.
 *
 * The row's own bytes (gateway/audit/leaf), the path from it to its block's
 * root, the block, and the path from that to the root that was signed.  With
 * the public key, whoever has these needs neither the database nor us.
 */
#ifndef GATEWAY_AUDIT_INCLUSION_H
#define GATEWAY_AUDIT_INCLUSION_H

#include "gateway/audit/block.h"
#include "gateway/audit/checkpoint.h"
#include "gateway/audit/merkle.h"
#include "schema/problem.h"

#define INCLUSION_ROW 16384 /* the largest row that a proof can carry */

struct query;

struct inclusion {
	unsigned char row[INCLUSION_ROW];
	size_t row_length;
	uint64_t leaves; /* of the block: rows, entries and its border */
	struct merkle_path row_path;
	struct block block;
	struct merkle_path block_path;
	int64_t size; /* of the checkpoint, in blocks */
	char note[CHECKPOINT_NOTE];
};

/*
 * STATUS_NOT_FOUND, with a problem, when the row or a checkpoint over it is
 * not there.  The proof is made, not checked: a file that was changed gives
 * one that fails.
 */
int inclusion_make(struct query *query, int64_t seq, struct inclusion *ret,
    struct problem *reterr) MUST_CHECK;

#endif
