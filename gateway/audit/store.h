/*
 * store - events to rows, one transaction a batch.
 *
 * store_begin(), then everything of the batch, then store_commit().  When any
 * of it fails, store_rollback() leaves the store as it was before, with the
 * same next number: the batch can be put again as a whole.  Numbers have no
 * gaps, because only a commit uses them up.
 */
#ifndef GATEWAY_AUDIT_STORE_H
#define GATEWAY_AUDIT_STORE_H

#include "schema/event.h"
#include "schema/problem.h"

#include <stdbool.h>

struct store;

/* What a run's rows have in common; the caller's, from store_run_id(). */
struct store_run {
	int64_t id;
	struct event_run about; /* detail borrows from the caller */
	/* The layer loaded last: a rule without a policy is one of its. */
	uint8_t policy[32];
	bool has_policy;
};

/* One policy text, as it was loaded. */
struct store_policy {
	struct event_policy about;
	int64_t loaded_us;
	struct cursor body;
};

int store_open(const char *path, struct store **ret, struct problem *reterr)
    MUST_CHECK;
void store_close(struct store *store);

/* An id for a run's row, never given twice. */
int64_t store_run_id(struct store *store);

/* STATUS_REFUSED when the uid is taken, STATUS_SYSTEM when it cannot tell. */
int store_check_run(struct store *store, const char *uid) MUST_CHECK;

/* Whether the row seq is one of this run's; no when it cannot tell. */
bool store_owns(struct store *store, const struct store_run *run, int64_t seq)
    MUST_CHECK;

/* disk: the commit survives a power cut. */
int store_begin(struct store *store, bool disk) MUST_CHECK;
int store_add_run(struct store *store, const struct store_run *run,
    int64_t started_us) MUST_CHECK;
int store_end_run(struct store *store, const struct store_run *run, int64_t us)
    MUST_CHECK;
int store_add_policy(struct store *store, const struct store_policy *policy)
    MUST_CHECK;

/* run is NULL for rows about the writer itself. */
int store_insert(struct store *store, const struct store_run *run,
    const struct event *event, int64_t *ret_seq) MUST_CHECK;
int store_commit(struct store *store) MUST_CHECK;

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
