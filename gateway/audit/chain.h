/*
 * chain - proves what the writer writes, in the transaction that writes it.
 *
 * Every commit becomes one block: a tree over its rows and over the
 * dictionary entries that came with them.  A block names the digest of the
 * one before it, a second tree stands over all blocks, and from time to time
 * that tree's root is signed.  Blocks and rows are committed together, so a
 * crash leaves either both or none.
 *
 * chain_begin(), chain_row() for each row, chain_seal(); then chain_keep()
 * after the commit, or chain_forget() when there was none.
 */
#ifndef GATEWAY_AUDIT_CHAIN_H
#define GATEWAY_AUDIT_CHAIN_H

#include "schema/cursor.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct chain;
struct event;
struct leaf_keys;
struct segment;
struct start;

/* Borrows segment; path is the audit's, for the key beside it. */
int chain_open(const char *path, struct segment *segment, struct chain **ret,
    struct problem *reterr) MUST_CHECK;
void chain_close(struct chain *chain);

/* The last row that a block has, in this segment or before it; 0 is none. */
int64_t chain_last_seq(const struct chain *chain);

/* Whether this segment has no block yet. */
bool chain_is_new(const struct chain *chain);

/* What the next segment is told; borrows from chain. */
void chain_start(const struct chain *chain, struct start *ret);
struct cursor chain_name(const struct chain *chain);
struct cursor chain_key(const struct chain *chain);

void chain_begin(struct chain *chain);
void chain_row(struct chain *chain, int64_t seq, const struct event *event,
    const struct leaf_keys *keys);

/*
 * Inserts the block of the rows since chain_begin(), if there are any, and a
 * checkpoint at a run's end or when the last one is LIMIT_CHECKPOINT_MS old.
 */
int chain_seal(struct chain *chain) MUST_CHECK;

/* Between blocks: whether there are any that no checkpoint covers, and one. */
bool chain_wants_checkpoint(const struct chain *chain);
int chain_checkpoint(struct chain *chain) MUST_CHECK;
void chain_keep(struct chain *chain);
void chain_forget(struct chain *chain);

#endif
