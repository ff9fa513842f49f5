/*
 * verify - whether an audit is still what its writer wrote.
 *
 * Reads each segment in one snapshot and makes every digest again: rows and
 * dictionary entries, blocks, the chain, the tree, and the signatures of the
 * checkpoints.  It tells of every place that does not fit, as narrowly as the
 * digests allow: a missing row by its number, a changed one by the block it
 * stands in.
 *
 * Somebody who may write the file and has its key can make another history
 * that fits.  Only a checkpoint that was kept elsewhere, an anchor, shows it.
 */
#ifndef GATEWAY_AUDIT_VERIFY_H
#define GATEWAY_AUDIT_VERIFY_H

#include "gateway/audit/checkpoint.h"
#include "gateway/audit/finding.h"
#include "schema/problem.h"

struct query;

struct verify {
	/* In order of size; may be NULL when there are none. */
	const struct checkpoint *anchors;
	size_t anchor_count;
	void (*on_finding)(const struct finding *finding, void *arg);
	void *arg;
};

struct verify_report {
	int64_t findings;
	int64_t rows, entries, blocks, checkpoints, runs;
	int64_t open_runs; /* that have no last row yet */
	int64_t segments, pruned; /* files, and those that are gone */
	int64_t unproven; /* rows from before there were blocks */
	char origin[CHECKPOINT_ORIGIN];
	uint8_t key[SIGNER_KEY]; /* the file's own */
	int64_t signed_blocks; /* of the newest checkpoint */
	int64_t anchored_blocks; /* of the newest anchor */
};

/* STATUS_PROBLEM only when the file cannot be read at all. */
int verify_run(struct query *query, const struct verify *verify,
    struct verify_report *ret, struct problem *reterr) MUST_CHECK;

/* What meta says of the chain; a problem when the file has no blocks. */
int verify_identity(struct query *query, char ret_origin[CHECKPOINT_ORIGIN],
    uint8_t ret_key[SIGNER_KEY], struct problem *reterr) MUST_CHECK;

#endif
