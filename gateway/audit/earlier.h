/*
 * earlier - what the writer must still know of segments it has left.
 *
 * A run that goes on may name rows and policies of a segment before the one
 * that is being written.  Those files are only read here.  One is kept open:
 * what is asked for was mostly written a moment ago.
 */
#ifndef GATEWAY_AUDIT_EARLIER_H
#define GATEWAY_AUDIT_EARLIER_H

#include "gateway/audit/store_run.h"
#include "schema/attr.h"

struct earlier;
struct sqlite3_stmt;

/* Of the segments of audit below number. */
struct earlier *earlier_new(const char *audit, int64_t number) MUST_CHECK;
void earlier_free(struct earlier *earlier);

/* Until it is asked again: an open file cannot be sealed. */
void earlier_close(struct earlier *earlier);

/* Whether row seq is one of the run uid; no when it cannot tell. */
bool earlier_owns(struct earlier *earlier, const char *uid, int64_t seq)
    MUST_CHECK;

/*
 * The newest policy of this digest; ret borrows until the next call.
 * STATUS_NOT_FOUND when there is none.
 */
int earlier_policy(struct earlier *earlier, struct cursor sha256,
    struct store_policy *ret) MUST_CHECK;

/* Whether the run has rows in that segment; yes when it cannot tell. */
bool earlier_is_of(struct earlier *earlier, int64_t number, const char *uid)
    MUST_CHECK;

/* Whether there was a run of this uid. */
bool earlier_has_run(struct earlier *earlier, const char *uid) MUST_CHECK;

/*
 * Runs that have no end in the newest of them: ?1 is bound to their order, a
 * row is the columns of sandbox but for ended_us.  NULL when there is no such
 * segment or it cannot be read; the caller finalises it.
 */
struct sqlite3_stmt *earlier_open_runs(struct earlier *earlier) MUST_CHECK;

#endif
