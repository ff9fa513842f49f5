/*
 * chore - what a command of the owner's asks the audit's writer to do.
 *
 * AUDIT_CHORE is the first frame of a connection, and may be followed by
 * others; each is answered by one AUDIT_DONE before the next is sent.
 */
#ifndef SCHEMA_CHORE_H
#define SCHEMA_CHORE_H

#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/problem.h"

enum chore_kind {
	CHORE_TEND, /* the rollup up to date, what was left sealed */
	CHORE_SEAL, /* the next segment begun, and this one sealed */
	CHORE_HOLD, /* no segment of the run may be pruned */
	CHORE_RELEASE,
	CHORE_PRUNE, /* the segment removed */
	CHORE_COUNT
};

struct chore {
	enum chore_kind kind;
	int64_t segment; /* to prune; else 0 */
	char run[LIMIT_RUN_UID + 1]; /* to hold or release; else empty */
	char by[LIMIT_PRINCIPAL + 1]; /* whoever asks */
};

void chore_write(const struct chore *chore, struct cursor_writer *out);
int chore_read(struct cursor body, struct chore *ret) MUST_CHECK;

/* AUDIT_DONE: a problem, or empty texts. */
void chore_done_write(const struct problem *problem, struct cursor_writer *out);
int chore_done_read(struct cursor body, struct problem *ret) MUST_CHECK;

#endif
