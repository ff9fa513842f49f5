/*
 * block - what one commit has written, as one link of the chain.
 *
 * The writer fills one and inserts it, the verifier reads one and makes its
 * digest again; what is hashed, and in which order, stands here alone.
 */
#ifndef GATEWAY_AUDIT_BLOCK_H
#define GATEWAY_AUDIT_BLOCK_H

#include "gateway/audit/digest.h"
#include "gateway/audit/leaf.h"

struct block {
	int64_t no; /* from 1 */
	int64_t first_seq, last_seq;
	int64_t first_us, last_us; /* the earliest and the latest */
	struct digest root, prev, hash;
	int64_t last_ids[LEAF_TABLES];
	int64_t last_checkpoint; /* 0: there was none */
	struct digest names;
	bool has_names;
};

/* All columns in order, and the same as an insert. */
extern const char block_select_sql[];
extern const char block_insert_sql[];

/* False when the row is no block; names and digests have a length. */
bool block_read(struct sqlite3_stmt *statement, struct block *ret) MUST_CHECK;

/* STATUS_SYSTEM when it cannot be inserted. */
int block_insert(struct sqlite3_stmt *statement, const struct block *block)
    MUST_CHECK;

/* The last leaf of a block: the columns its own digest does not have. */
void block_border(
    struct digester *digester, const struct block *block, struct digest *ret);

/* What block.hash must be. */
void block_digest(
    struct digester *digester, const struct block *block, struct digest *ret);

/* What the first block is linked to. */
void block_genesis(struct digester *digester, struct cursor chain,
    int64_t segment, struct digest *ret);

/* How many leaves the rows have; entries and the border follow them. */
uint64_t block_rows(const struct block *block);

#endif
