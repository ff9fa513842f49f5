#include "gateway/audit/store.h"

#include "gateway/audit/chain.h"
#include "gateway/audit/earlier.h"
#include "gateway/audit/entries.h"
#include "gateway/audit/hot.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/start.h"
#include "gateway/proc/clock.h"
#include "schema/json.h"
#include "schema/status.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whose the newest rows are: a row mostly belongs to one that was written a
 * moment ago, and a look into the file costs more than the row itself.
 */
enum {
	OWNER_COUNT = 65536
};

struct store {
	char audit[SHELF_PATH];
	int64_t segment_rows; /* then the next segment begins */
	struct hot hot;
	LIST_HEAD(, store_run) runs; /* that have a row */
	int64_t next_seq, committed_seq; /* the next one, and at rollback */
	int64_t next_run, committed_run;
	bool full; /* synchronous=FULL is set */
	bool rotate_told; /* the row that says so is written */
	int64_t tried_seq; /* behind the highest number ever inserted */
	int64_t owners[OWNER_COUNT]; /* by the last bits; 0: ask the file */
};

const char *
store_error(struct store *store)
{
	if (!store_is_in_place(store))
		return "its file was removed or renamed";
	return segment_error(store->hot.segment);
}

/* ---- runs that go on in the next segment ---- */

static struct store_run *
find_run(struct store *store, const char *uid)
{
	struct store_run *run;

	for (run = LIST_FIRST(&store->runs); run != NULL;
	     run = LIST_NEXT(run, entry))
		if (strcmp(run->about.uid, uid) == 0)
			return run;
	return NULL;
}

static int
insert_row(struct store *store, struct hot *hot, const struct store_run *run,
    const struct event *event)
{
	int status = hot_insert(hot, store->next_seq, run, event);

	if (status == STATUS_OK)
		store->next_seq++;
	return status;
}

static int
insert_note(struct store *store, struct hot *hot, const struct store_run *run,
    const char *what, int64_t segment)
{
	unsigned char text[64];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json json = json_to(&out);
	struct event event = event_empty();

	json_open(&json, NULL, '{');
	json_number(&json, "segment", segment);
	json_close(&json, '}');
	event.number = 1;
	event.kind = EVENT_AUDIT;
	event.ts_us = clock_wall_us();
	event.object = cursor_of_text(what);
	event.detail = cursor_of(text, out.used);
	return insert_row(store, hot, run, &event);
}

/* One run of the segment before: its entry again, and a row that says so. */
static int
continue_run(struct store *store, struct hot *hot, sqlite3_stmt *before)
{
	sqlite3_stmt *statement = hot->statements[HOT_CONTINUE_RUN];
	const unsigned char *uid = sqlite3_column_text(before, 0);
	struct store_run *ours, run = { .id = store->next_run };
	int used;

	used = snprintf(run.about.uid, sizeof(run.about.uid), "%s",
	    uid == NULL ? (const unsigned char *)"" : uid);
	if (used <= 0 || (size_t)used >= sizeof(run.about.uid) ||
	    sqlite3_bind_int64(statement, 1, run.id) != SQLITE_OK)
		return STATUS_SYSTEM;
	for (int i = 0; i < sqlite3_column_count(before); i++)
		if (sqlite3_bind_value(statement, i + 2,
			sqlite3_column_value(before, i)) != SQLITE_OK)
			return STATUS_SYSTEM;
	if (sqlite3_step(statement) != SQLITE_DONE ||
	    sqlite3_reset(statement) != SQLITE_OK)
		return STATUS_SYSTEM;
	ours = find_run(store, run.about.uid);
	if (ours != NULL) {
		ours->next_id = run.id;
		memcpy(run.about.principal, ours->about.principal,
		    sizeof(run.about.principal));
	}
	store->next_run++;
	return insert_note(store, hot, &run, "continue", hot->number - 1);
}

static int
continue_all(struct store *store, struct hot *hot)
{
	sqlite3_stmt *before = earlier_open_runs(hot->earlier);
	int status = STATUS_OK, result = SQLITE_ERROR;

	if (before == NULL)
		return STATUS_SYSTEM;
	while (status == STATUS_OK) {
		result = sqlite3_step(before);
		if (result != SQLITE_ROW)
			break;
		status = continue_run(store, hot, before);
	}
	(void)sqlite3_finalize(before);
	if (status == STATUS_OK && result != SQLITE_DONE)
		status = STATUS_SYSTEM;
	return status == STATUS_OK ? chain_seal(hot->chain) : status;
}

/* The first rows of a segment behind the first, if runs are open. */
static int
continue_runs(struct store *store, struct hot *hot)
{
	struct store_run *run;
	int status;

	store->next_run = 1;
	entries_begin(hot->entries);
	chain_begin(hot->chain);
	if (!segment_run(hot->segment, "BEGIN IMMEDIATE"))
		return STATUS_SYSTEM;
	status = continue_all(store, hot);
	if (status == STATUS_OK && !segment_run(hot->segment, "COMMIT"))
		status = STATUS_SYSTEM;
	if (status != STATUS_OK) {
		hot_roll_back(hot);
		store->next_run = store->committed_run;
		store->next_seq = store->committed_seq;
		return status;
	}
	chain_keep(hot->chain);
	earlier_close(hot->earlier);
	store->committed_run = store->next_run;
	store->committed_seq = store->next_seq;
	for (run = LIST_FIRST(&store->runs); run != NULL;
	     run = LIST_NEXT(run, entry))
		run->id = run->next_id;
	return STATUS_OK;
}

/* ---- opening the audit ---- */

/* The newest segment; one whose maker died before it was made is made. */
static int
open_newest(struct store *store, int64_t number, struct problem *reterr)
{
	struct segment_birth birth = { .number = number };
	unsigned char bytes[START_ROOM];
	struct hot before = { .number = 0 };
	int status = hot_open(store->audit, &birth, &store->hot, reterr);

	if (status != STATUS_NOT_FOUND)
		return status;
	birth.number = number - 1;
	status = hot_open(store->audit, &birth, &before, reterr);
	if (status != STATUS_OK)
		return status;
	birth = hot_next_birth(&before, bytes);
	status = hot_open(store->audit, &birth, &store->hot, reterr);
	hot_close(&before, true);
	return status;
}

static int
begin(struct store *store, struct problem *reterr)
{
	struct hot *hot = &store->hot;
	int64_t last_seq;

	if (!segment_number(hot->segment,
		"SELECT ifnull(max(seq), 0) FROM event", &last_seq) ||
	    !segment_number(hot->segment,
		"SELECT ifnull(max(id), 0) + 1 FROM sandbox", &store->next_run))
		return problem_set(reterr, "cannot read %s: %s", store->audit,
		    store_error(store));
	if (last_seq < chain_last_seq(hot->chain))
		last_seq = chain_last_seq(hot->chain);
	store->full = true;
	store->next_seq = store->committed_seq = last_seq + 1;
	store->committed_run = store->next_run;
	if (hot->number > 1 && chain_is_new(hot->chain) &&
	    continue_runs(store, hot) != STATUS_OK)
		return problem_set(reterr, "cannot write %s: %s", store->audit,
		    store_error(store));
	return STATUS_OK;
}

int
store_open(const char *path, int64_t segment_rows, struct store **ret,
    struct problem *reterr)
{
	struct store *store = calloc(1, sizeof(*store));
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	int status;

	if (store == NULL || shelf == NULL) {
		(void)problem_set(reterr, "no memory to open %s", path);
		goto fail;
	}
	LIST_INIT(&store->runs);
	store->segment_rows = segment_rows;
	status = shelf_path(path, 1, store->audit, reterr);
	if (status == STATUS_OK)
		status = shelf_read(path, shelf, reterr);
	if (status == STATUS_OK)
		status = open_newest(store,
		    shelf->count == 0 ? 1 : shelf->numbers[shelf->count - 1],
		    reterr);
	if (status == STATUS_OK)
		status = begin(store, reterr);
	if (status != STATUS_OK)
		goto fail;
	free(shelf);
	*ret = store;
	return STATUS_OK;
fail:
	free(shelf);
	store_close(store);
	return STATUS_PROBLEM;
}

void
store_close(struct store *store)
{
	if (store == NULL)
		return;
	while (!LIST_EMPTY(&store->runs))
		store_forget_run(store, LIST_FIRST(&store->runs));
	hot_close(&store->hot, false);
	free(store);
}

/* ---- the next segment ---- */

bool
store_is_long(const struct store *store)
{
	const struct hot *hot = &store->hot;

	if (hot->first_seq == 0)
		return false;
	return store->committed_seq - hot->first_seq >= store->segment_rows;
}

/* The last row of a segment brings a checkpoint over all of it. */
static int
tell_rotate(struct store *store)
{
	int status;

	if (store->rotate_told)
		return STATUS_OK;
	status = store_begin(store, true);
	if (status == STATUS_OK)
		status = insert_note(
		    store, &store->hot, NULL, "rotate", store->hot.number + 1);
	if (status == STATUS_OK)
		status = store_commit(store);
	if (status != STATUS_OK)
		store_rollback(store);
	store->rotate_told = status == STATUS_OK;
	return status;
}

int
store_rotate(struct store *store, struct problem *reterr)
{
	unsigned char bytes[START_ROOM];
	struct segment_birth birth;
	struct hot next = { .number = 0 };
	int status;

	if (tell_rotate(store) != STATUS_OK)
		return problem_set(reterr, "%s", store_error(store));
	birth = hot_next_birth(&store->hot, bytes);
	status = hot_open(store->audit, &birth, &next, reterr);
	if (status != STATUS_OK)
		return STATUS_PROBLEM;
	if (continue_runs(store, &next) != STATUS_OK) {
		(void)problem_set(reterr, "%s", segment_error(next.segment));
		hot_close(&next, false);
		return STATUS_PROBLEM;
	}
	/* Its log is copied by whoever seals it: that takes a while. */
	hot_close(&store->hot, true);
	store->hot = next;
	store->full = true;
	store->rotate_told = false;
	memset(store->owners, 0, sizeof(store->owners));
	return STATUS_OK;
}

bool
store_is_used(struct store *store, int64_t segment)
{
	const struct store_run *run;

	for (run = LIST_FIRST(&store->runs); run != NULL;
	     run = LIST_NEXT(run, entry))
		if (earlier_is_of(store->hot.earlier, segment, run->about.uid))
			return true;
	return false;
}

const char *
store_audit(const struct store *store)
{
	return store->audit;
}

int64_t
store_segment(const struct store *store)
{
	return store->hot.number;
}

int
store_check_run(struct store *store, const char *uid)
{
	struct binding binding = hot_binding(&store->hot, HOT_FIND_RUN);
	int64_t id;
	int status;

	binding_text(&binding, cursor_of_text(uid));
	status = binding_look_up(&binding, &id);
	if (status == STATUS_NOT_FOUND)
		return earlier_has_run(store->hot.earlier, uid) ? STATUS_REFUSED
								: STATUS_OK;
	return status == STATUS_OK ? STATUS_REFUSED : STATUS_SYSTEM;
}

bool
store_owns(struct store *store, const struct store_run *run, int64_t seq)
{
	struct binding binding = hot_binding(&store->hot, HOT_OWNER_OF_ROW);
	int64_t owner;

	if (seq <= 0 || seq >= store->committed_seq)
		return false;
	if (seq < store->hot.first_seq || store->hot.first_seq == 0)
		return earlier_owns(store->hot.earlier, run->about.uid, seq);
	owner = store->owners[seq % OWNER_COUNT];
	/* A slot that a later number has used, maybe in vain, tells nothing. */
	if (owner != 0 && seq >= store->tried_seq - OWNER_COUNT)
		return owner == run->id;
	binding_id(&binding, seq);
	return binding_look_up(&binding, &owner) == STATUS_OK &&
	       owner == run->id;
}

int
store_begin(struct store *store, bool disk)
{
	entries_begin(store->hot.entries);
	chain_begin(store->hot.chain);
	/* Set outside of a transaction, or it has no effect. */
	if (store->full != disk) {
		if (!segment_run(store->hot.segment,
			disk ? "PRAGMA synchronous = FULL"
			     : "PRAGMA synchronous = NORMAL"))
			return STATUS_SYSTEM;
		store->full = disk;
	}
	if (!segment_run(store->hot.segment, "BEGIN IMMEDIATE"))
		return STATUS_SYSTEM;
	return STATUS_OK;
}

bool
store_is_in_place(struct store *store)
{
	return segment_is_in_place(store->hot.segment);
}

int
store_commit(struct store *store)
{
	int status = chain_seal(store->hot.chain);

	if (status != STATUS_OK)
		return status;
	/* SQLite asks that itself, but not with a write-ahead log. */
	if (!store_is_in_place(store) ||
	    !segment_run(store->hot.segment, "COMMIT"))
		return STATUS_SYSTEM;
	chain_keep(store->hot.chain);
	store->committed_seq = store->next_seq;
	store->committed_run = store->next_run;
	earlier_close(store->hot.earlier);
	segment_checkpoint(store->hot.segment);
	return STATUS_OK;
}

int64_t
store_last_seq(const struct store *store)
{
	return store->committed_seq - 1;
}

int
store_checkpoint(struct store *store)
{
	struct hot *hot = &store->hot;
	int status;

	if (!chain_wants_checkpoint(hot->chain))
		return STATUS_OK;
	if (!segment_run(hot->segment, "BEGIN IMMEDIATE"))
		return STATUS_SYSTEM;
	status = chain_checkpoint(hot->chain);
	if (status == STATUS_OK && !segment_run(hot->segment, "COMMIT"))
		status = STATUS_SYSTEM;
	if (status == STATUS_OK) {
		chain_keep(hot->chain);
		return STATUS_OK;
	}
	hot_roll_back(hot);
	return status;
}

void
store_rollback(struct store *store)
{
	hot_roll_back(&store->hot);
	entries_forget(store->hot.entries);
	store->next_seq = store->committed_seq;
	store->next_run = store->committed_run;
	if (store->hot.first_seq >= store->next_seq)
		store->hot.first_seq = 0;
}

int
store_add_run(struct store *store, struct store_run *run, int64_t started_us)
{
	struct binding binding = hot_binding(&store->hot, HOT_INSERT_RUN);

	run->id = store->next_run++;
	/* A batch that failed is put again, and its runs with it. */
	if (find_run(store, run->about.uid) == NULL)
		LIST_INSERT_HEAD(&store->runs, run, entry);
	run->is_listed = true;
	binding_id(&binding, run->id);
	binding_text(&binding, cursor_of_text(run->about.uid));
	binding_optional(&binding, cursor_of_text(run->about.image));
	binding_optional(&binding, cursor_of_text(run->about.host));
	binding_optional(&binding, cursor_of_text(run->about.owner));
	binding_id(&binding, started_us);
	binding_optional(&binding, run->about.detail);
	return binding_finish(&binding);
}

int
store_end_run(struct store *store, const struct store_run *run, int64_t us)
{
	struct binding binding = hot_binding(&store->hot, HOT_END_RUN);

	binding_id(&binding, run->id);
	binding_id(&binding, us);
	return binding_finish(&binding);
}

int
store_insert(struct store *store, const struct store_run *run,
    const struct event *event, int64_t *ret_seq)
{
	int64_t seq = store->next_seq;
	int status = insert_row(store, &store->hot, run, event);

	if (status != STATUS_OK)
		return status;
	store->owners[seq % OWNER_COUNT] = run == NULL ? 0 : run->id;
	if (store->tried_seq < store->next_seq)
		store->tried_seq = store->next_seq;
	*ret_seq = seq;
	return STATUS_OK;
}

int
store_add_policy(struct store *store, const struct store_policy *policy)
{
	return entries_add_policy(store->hot.entries, policy);
}

void
store_forget_run(struct store *store, struct store_run *run)
{
	(void)store;
	if (run->is_listed)
		LIST_REMOVE(run, entry);
	run->is_listed = false;
}

int
store_lost_runs(
    struct store *store, struct store_run *runs, size_t max, size_t *ret_count)
{
	sqlite3_stmt *statement = store->hot.statements[HOT_LOST_RUNS];
	size_t count = 0;

	while (count < max && sqlite3_step(statement) == SQLITE_ROW) {
		struct store_run run = { .id = sqlite3_column_int64(
					     statement, 0) };
		const unsigned char *uid = sqlite3_column_text(statement, 1);
		int used;

		if (uid == NULL)
			continue;
		used =
		    snprintf(run.about.uid, sizeof(run.about.uid), "%s", uid);
		if (used > 0 && (size_t)used < sizeof(run.about.uid))
			runs[count++] = run;
	}
	if (sqlite3_reset(statement) != SQLITE_OK)
		return STATUS_SYSTEM;
	*ret_count = count;
	return STATUS_OK;
}
