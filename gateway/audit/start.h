/*
 * start - where a segment's chain goes on from the segment before it.
 *
 * The last row and block of the segment before, and the tree over all blocks
 * so far.  A segment keeps it in its meta, so that it can be verified alone:
 * the roots of its signed checkpoints are those of this tree gone on.
 */
#ifndef GATEWAY_AUDIT_START_H
#define GATEWAY_AUDIT_START_H

#include "gateway/audit/merkle.h"

struct start {
	int64_t last_seq, last_us; /* of the last block */
	int64_t checkpoint; /* the newest one, or 0 */
	struct digest hash; /* of the last block */
	struct merkle tree; /* its size is the last block's number */
};

#define START_ROOM (3 * 8 + DIGEST_BYTES + MERKLE_ROOM)

void start_write(const struct start *start, struct cursor_writer *out);
bool start_read(struct cursor bytes, struct start *ret) MUST_CHECK;
bool start_equals(const struct start *a, const struct start *b);

#endif
