/*
 * store - events to rows, one transaction a batch.
 *
 * store_begin(), then everything of the batch, then store_commit().  When any
 * of it fails, store_rollback() leaves the store as it was before, with the
 * same next number: the batch can be put again as a whole.  Numbers have no
 * gaps, because only a commit uses them up.
 *
 * The rows stand in segments (gateway/audit/shelf).  What a run is called, its
 * numbers and its chain go on from one to the next; ids of dictionary entries
 * begin anew in each.
 */
#ifndef GATEWAY_AUDIT_STORE_H
#define GATEWAY_AUDIT_STORE_H

#include "gateway/audit/store_run.h"
#include "schema/problem.h"

struct store;

/* path is borrowed; a segment has about segment_rows rows. */
int store_open(const char *path, int64_t segment_rows, struct store **ret,
    struct problem *reterr) MUST_CHECK;
void store_close(struct store *store);

/* The audit's path, and the number of the segment that is being written. */
const char *store_audit(const struct store *store);
int64_t store_segment(const struct store *store);

/* Whether a run that goes on has rows in that segment; yes in doubt. */
bool store_is_used(struct store *store, int64_t segment) MUST_CHECK;

/* Whether the segment has the rows it may have. */
bool store_is_long(const struct store *store);

/*
 * Begins the next segment, in which the runs that are open go on; between two
 * transactions.  When it fails, rows still go into the old one.
 */
int store_rotate(struct store *store, struct problem *reterr) MUST_CHECK;

/* STATUS_REFUSED when the uid is taken, STATUS_SYSTEM when it cannot tell. */
int store_check_run(struct store *store, const char *uid) MUST_CHECK;

/* Whether the row seq is one of this run's; no when it cannot tell. */
bool store_owns(struct store *store, const struct store_run *run, int64_t seq)
    MUST_CHECK;

/* disk: the commit survives a power cut. */
int store_begin(struct store *store, bool disk) MUST_CHECK;
/* Keeps run until it is forgotten. */
int store_add_run(
    struct store *store, struct store_run *run, int64_t started_us) MUST_CHECK;
void store_forget_run(struct store *store, struct store_run *run);
int store_end_run(struct store *store, const struct store_run *run, int64_t us)
    MUST_CHECK;
int store_add_policy(struct store *store, const struct store_policy *policy)
    MUST_CHECK;

/* run is NULL for rows about the writer itself. */
int store_insert(struct store *store, const struct store_run *run,
    const struct event *event, int64_t *ret_seq) MUST_CHECK;
int store_commit(struct store *store) MUST_CHECK;

/* The number of the last row that is committed, or 0. */
int64_t store_last_seq(const struct store *store);

/* A checkpoint over all blocks, unless the newest is; outside a transaction. */
int store_checkpoint(struct store *store) MUST_CHECK;

/* Whether the database still has its name: without it no row can be kept. */
bool store_is_in_place(struct store *store) MUST_CHECK;
void store_rollback(struct store *store);

/* What went wrong, for the log; borrows from store until the next call. */
const char *store_error(struct store *store);

/*
 * Tells of every run that has no end, as left by a writer that was killed:
 * its id and uid, at most max of them; gives how many.
 */
int store_lost_runs(struct store *store, struct store_run *runs, size_t max,
    size_t *ret_count) MUST_CHECK;

#endif
