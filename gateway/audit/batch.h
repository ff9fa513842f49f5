/*
 * batch - rows that wait for the next commit, in the order they came.
 *
 * Events are kept as the bytes they came in, checked before: nothing is
 * allocated for a row once the two arrays have grown.
 */
#ifndef GATEWAY_AUDIT_BATCH_H
#define GATEWAY_AUDIT_BATCH_H

#include "schema/event.h"

#include <stdbool.h>

struct store_run;
struct writer_op;

struct batch_row {
	size_t at; /* of its block in bytes */
	size_t length;
	const struct store_run *run; /* NULL for rows about the writer */
	struct writer_op *op; /* done in the same transaction, or NULL */
	size_t next; /* the next row of the same source; 0 is none */
	uint64_t number;
	int64_t seq; /* filled in by the commit */
	bool waits;
};

struct batch {
	unsigned char *bytes;
	size_t used, size;
	struct batch_row *rows;
	size_t count, room;
	bool disk; /* somebody waits for the disk */
};

/*
 * Copies event behind the others; what else the row has is the caller's to
 * fill in.  ret borrows from batch until the next call.
 */
int batch_add(struct batch *batch, const struct event *event,
    struct batch_row **ret) MUST_CHECK;

/* The event of a row; borrows from batch. */
struct event batch_event(
    const struct batch *batch, const struct batch_row *row);

/* Empty again; the room stays. */
void batch_clear(struct batch *batch);
void batch_done(struct batch *batch);

#endif
