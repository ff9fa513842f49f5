/*
 * hot - the segment that is being written, and what belongs to it.
 *
 * Its file, its part of the chain, its dictionaries, and what of earlier
 * segments is still asked for: one is opened as a whole and closed as a whole.
 * An open record: gateway/audit/store alone uses it, and owns it.
 */
#ifndef GATEWAY_AUDIT_HOT_H
#define GATEWAY_AUDIT_HOT_H

#include "gateway/audit/binding.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/start.h"
#include "schema/problem.h"

#include <stdint.h>

struct chain;
struct earlier;
struct entries;
struct event;
struct store_run;

enum hot_statement {
	HOT_INSERT_EVENT,
	HOT_INSERT_RUN,
	HOT_CONTINUE_RUN,
	HOT_END_RUN,
	HOT_FIND_RUN,
	HOT_LOST_RUNS,
	HOT_OWNER_OF_ROW,
	HOT_STATEMENT_COUNT
};

struct hot {
	int64_t number;
	struct segment *segment;
	struct chain *chain;
	struct earlier *earlier;
	struct entries *entries;
	struct sqlite3_stmt *statements[HOT_STATEMENT_COUNT];
	int64_t first_seq; /* of its first row; 0 before it */
};

/*
 * Opens the segment that birth tells of, of the audit at that path, and makes
 * it when it is not there.  STATUS_NOT_FOUND as segment_open() gives it.
 */
int hot_open(const char *audit, const struct segment_birth *birth,
    struct hot *ret, struct problem *reterr) MUST_CHECK;

/* leave_log: its log is put away by whoever opens it next. */
void hot_close(struct hot *hot, bool leave_log);

/* What the segment behind it is told; borrows from hot and bytes. */
struct segment_birth hot_next_birth(
    const struct hot *hot, unsigned char bytes[START_ROOM]);

/* The statement, with nothing bound yet. */
struct binding hot_binding(const struct hot *hot, enum hot_statement which);

/* One row, in a transaction; run may be NULL. */
int hot_insert(struct hot *hot, int64_t seq, const struct store_run *run,
    const struct event *event) MUST_CHECK;

/* Takes a transaction back, if one is open, and what the chain made in it. */
void hot_roll_back(struct hot *hot);

#endif
