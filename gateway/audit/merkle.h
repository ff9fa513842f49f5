/*
 * merkle - a tree of RFC 9162 section 2.1 over digests that come in order.
 *
 * Only the right edge is kept: one digest for each whole subtree.  So a tree
 * over any number of leaves takes the same memory.  An inclusion path is made
 * the same way, in one pass over all leaves, and so is a consistency path.
 */
#ifndef GATEWAY_AUDIT_MERKLE_H
#define GATEWAY_AUDIT_MERKLE_H

#include "gateway/audit/digest.h"

#define MERKLE_LEVELS 64

/* An empty tree is all zeroes. */
struct merkle {
	uint64_t size;
	/* [i]: of the whole subtree of 2^i leaves, if size has that bit. */
	struct digest whole[MERKLE_LEVELS];
};

void merkle_add(
    struct merkle *tree, struct digester *digester, const struct digest *leaf);

/* The tree must have a leaf. */
void merkle_root(
    const struct merkle *tree, struct digester *digester, struct digest *ret);

/* Bytes of merkle_write() at most. */
#define MERKLE_ROOM (8 + MERKLE_LEVELS * DIGEST_BYTES)

/* The size, and the whole subtrees from the largest down. */
void merkle_write(const struct merkle *tree, struct cursor_writer *out);
bool merkle_read(struct cursor bytes, struct merkle *ret) MUST_CHECK;

struct merkle_path {
	uint64_t leaf, next; /* the one that is proven, the one fed next */
	struct merkle part; /* of the sibling that is being fed */
	size_t count;
	/* From the root down: the leaves a sibling has. */
	struct {
		uint64_t begin, end;
		struct digest root;
	} siblings[MERKLE_LEVELS];
};

/*
 * The consistency path of section 2.1.4 from a tree of part leaves to one of
 * size, part not above it and neither 0; then size leaves are fed, in order.
 */
void merkle_path_between(
    struct merkle_path *path, uint64_t part, uint64_t size);

/* leaf is below size; then size leaves are fed, in order. */
void merkle_path_begin(struct merkle_path *path, uint64_t leaf, uint64_t size);
void merkle_path_feed(struct merkle_path *path, struct digester *digester,
    const struct digest *leaf);

/*
 * Feeds the leaves of a tree that is a beginning of this one, as the subtrees
 * it has kept; the proven leaf is not among them.
 */
void merkle_path_skip(struct merkle_path *path, struct digester *digester,
    const struct merkle *tree);

/* The path in the order of its section; borrows, and place is below
 * path->count. */
const struct digest *merkle_path_step(
    const struct merkle_path *path, size_t place);

#endif
