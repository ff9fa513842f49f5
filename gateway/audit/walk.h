/*
 * walk - the rows, entries, blocks and checkpoints of an audit, in order.
 *
 * The part of gateway/audit/verify that makes the digests again, a file at a
 * time: a walk goes on from the segment before.  It takes
 * what meta says as it is; whether meta fits is verify's own to ask.
 */
#ifndef GATEWAY_AUDIT_WALK_H
#define GATEWAY_AUDIT_WALK_H

#include "gateway/audit/block.h"
#include "gateway/audit/checkpoint.h"
#include "gateway/audit/finding.h"
#include "gateway/audit/merkle.h"

struct sqlite3;

struct walk {
	struct sqlite3 *db;
	struct digester *digester;
	struct findings findings;
	const char *origin;
	const uint8_t *key; /* that checkpoints are signed with */
	const struct checkpoint *anchors; /* in order of size */
	size_t anchor_count;
	bool is_newest; /* anchors behind its end are of blocks that are gone */
	/* Where it begins; filled in: what stands at the end. */
	struct merkle tree;
	struct block last; /* hash is what the first is linked to, no its 0 */
	bool begun; /* this file has a block */
	bool root_told; /* that the tree is not the signed one */
	size_t anchor; /* the next one */
	struct digest names; /* as the blocks have told them */
	int64_t checkpoint; /* the size of the newest one, or 0 */
	/* And what was seen. */
	int64_t rows, entries, blocks, checkpoints;
	int64_t unproven; /* rows from before there were blocks */
	int64_t signed_blocks, anchored_blocks;
};

/* STATUS_SYSTEM when the file cannot be read to its end. */
int walk_run(struct walk *walk) MUST_CHECK;

#endif
