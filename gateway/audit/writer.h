/*
 * writer - rows in, acceptance out after the commit.
 *
 * A row waits for company: at most LIMIT_AUDIT_COMMIT_MS or LIMIT_AUDIT_ROWS
 * rows, and only until the end of the tick when its producer waits for it.
 * When a commit fails the rows stay, everybody is told that no new ones are
 * taken, the reserve is given up for those under way, and the same rows are
 * tried again; new ones are taken once the reserve is held again.  Closed is a
 * state, not an end.  Nothing is accepted that is not a row.
 *
 * The run's side, who may send what, is gateway/audit/client.
 */
#ifndef GATEWAY_AUDIT_WRITER_H
#define GATEWAY_AUDIT_WRITER_H

#include "schema/event.h"

#include <stdbool.h>
#include <sys/queue.h>

struct channel;
struct loop;
struct store;
struct store_run;
struct writer;

/* Something that one row needs done in its transaction. */
struct writer_op {
	/* Before any row of the batch is inserted; may be called again. */
	int (*apply)(struct store *store, void *arg);
	/* Once, after the commit, with the row's number; last use of the op. */
	void (*done)(void *arg, int64_t seq);
	void *arg;
};

/* One channel that rows come from and acceptances go to. */
struct writer_source {
	LIST_ENTRY(writer_source) entry;
	struct channel *channel; /* NULL when it has ended */
	size_t pending; /* rows that are not committed */
	size_t first, last; /* of those: place in the batch, from 1 */
};

struct writer *writer_new(struct loop *loop, struct store *store) MUST_CHECK;
void writer_free(struct writer *writer);

/* Borrows from writer. */
struct store *writer_store(struct writer *writer);
struct loop *writer_loop(struct writer *writer);

/* Takes part in acceptances and states; told at once if they are closed. */
void writer_join(struct writer *writer, struct writer_source *source);

/* What it has put stays queued; it is not told of it any more. */
void writer_leave(struct writer_source *source);

/*
 * Queues one row.  source, run and op may be NULL and are borrowed until the
 * commit.  Fails only without memory.
 */
int writer_put(struct writer *writer, const struct event *event,
    struct writer_source *source, const struct store_run *run,
    struct writer_op *op) MUST_CHECK;

/*
 * Queues a row of kind audit: what happened (start, stop, bad_frame …), and
 * a short word about it, which may be NULL.
 */
void writer_note(struct writer *writer, const struct store_run *run,
    const char *what, const char *detail);

/* For how long no new rows were taken; 0: they are. */
int64_t writer_closed_us(const struct writer *writer);

/* Holds the reserve if it can, and tells in a row when there is little room. */
void writer_look_at_disk(struct writer *writer);

/* Begins the next segment; false when that fails, and rows go on into this. */
bool writer_rotate(struct writer *writer);

/* Commits what is queued now; false when it stays queued. */
bool writer_commit(struct writer *writer);

#endif
