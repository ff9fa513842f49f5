/*
 * identity - what a segment's meta says of it and of its chain.
 */
#ifndef GATEWAY_AUDIT_IDENTITY_H
#define GATEWAY_AUDIT_IDENTITY_H

#include "gateway/audit/checkpoint.h"
#include "gateway/audit/start.h"
#include "schema/problem.h"

struct sqlite3;

/* The keys, in order of their names. */
enum identity_place {
	IDENTITY_CHAIN,
	IDENTITY_CHECKPOINT,
	IDENTITY_KEY,
	IDENTITY_SCHEMA,
	IDENTITY_SEGMENT,
	IDENTITY_START,
	IDENTITY_TREE,
	IDENTITY_COUNT
};

struct identity {
	char chain[CHECKPOINT_ORIGIN];
	int64_t schema, segment, checkpoint;
	uint8_t key[SIGNER_KEY];
	struct start start; /* of a segment behind the first */
	struct merkle tree;
	int64_t strange; /* keys that are none of ours */
	unsigned known; /* one bit for each key that was there, and fits */
};

int identity_read(struct sqlite3 *db, struct identity *ret,
    struct problem *reterr) MUST_CHECK;

const char *identity_key(enum identity_place place);

/* The bits that known must have. */
unsigned identity_wanted(const struct identity *identity, bool has_blocks);

#endif
