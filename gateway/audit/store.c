#include "gateway/audit/store.h"

#include "gateway/audit/binding.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/earlier.h"
#include "gateway/audit/entries.h"
#include "gateway/audit/leaf.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/start.h"
#include "gateway/proc/clock.h"
#include "schema/json.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum statement {
	INSERT_EVENT,
	INSERT_RUN,
	CONTINUE_RUN,
	END_RUN,
	FIND_RUN,
	LOST_RUNS,
	OWNER_OF_ROW,
	STATEMENT_COUNT
};

static const char *const texts[] = {
	[INSERT_EVENT] =
	    "INSERT INTO event(seq, ts_us, kind, verdict, reason, sandbox_id, "
	    "principal_id, policy_id, rule_id, flow_id, req_id, parent_seq, "
	    "dst_id, dst_ip, dst_port, l7, tls, verb, object, status, "
	    "cred_id, bytes_out, bytes_in, dur_us, detail) VALUES(?1, ?2, ?3, "
	    "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
	    "?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
	[INSERT_RUN] = "INSERT INTO sandbox(id, uid, image, host, owner, "
		       "started_us, labels) VALUES(?, ?, ?, ?, ?, ?, ?)",
	/* The columns of earlier_open_runs(), behind the id. */
	[CONTINUE_RUN] =
	    "INSERT INTO sandbox(id, uid, tenant, image, image_digest, "
	    "runtime, host, owner, started_us, labels) "
	    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[END_RUN] = "UPDATE sandbox SET ended_us = ?2 WHERE id = ?1",
	[FIND_RUN] = "SELECT id FROM sandbox WHERE uid = ?",
	[LOST_RUNS] = "SELECT id, uid FROM sandbox WHERE ended_us IS NULL "
		      "ORDER BY id",
	[OWNER_OF_ROW] = "SELECT sandbox_id FROM event WHERE seq = ?",
};

static_assert(sizeof(texts) / sizeof(texts[0]) == STATEMENT_COUNT,
    "every statement has a text");

/* The segment that is being written, and what belongs to it. */
struct hot {
	int64_t number;
	struct segment *segment;
	struct chain *chain;
	struct earlier *earlier;
	struct entries *entries;
	sqlite3_stmt *statements[STATEMENT_COUNT];
	int64_t first_seq; /* of its first row; 0 before it */
};

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

/* ---- opening a segment ---- */

static void
hot_close(struct hot *hot, bool leave_log)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(hot->statements[i]);
	entries_free(hot->entries);
	earlier_free(hot->earlier);
	chain_close(hot->chain);
	if (leave_log)
		segment_leave(hot->segment);
	else
		segment_close(hot->segment);
	*hot = (struct hot){ .number = 0 };
}

static bool
prepare_all(struct hot *hot)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		hot->statements[i] = segment_prepare(hot->segment, texts[i]);
		if (hot->statements[i] == NULL)
			return false;
	}
	return segment_number(hot->segment,
		   "SELECT ifnull(min(seq), 0) FROM event", &hot->first_seq) &&
	       segment_run(hot->segment, "PRAGMA synchronous = FULL");
}

static int
hot_open(struct store *store, const struct segment_birth *birth,
    struct hot *ret, struct problem *reterr)
{
	struct hot hot = { .number = birth->number };
	char path[SHELF_PATH];
	int status = shelf_path(store->audit, birth->number, path, reterr);

	if (status == STATUS_OK)
		status = segment_open(path, birth, &hot.segment, reterr);
	if (status == STATUS_OK)
		status = shelf_sync(store->audit, reterr);
	if (status == STATUS_OK)
		status =
		    chain_open(store->audit, hot.segment, &hot.chain, reterr);
	if (status != STATUS_OK)
		goto fail;
	hot.earlier = earlier_new(store->audit, birth->number);
	if (hot.earlier != NULL)
		hot.entries = entries_new(hot.segment, hot.earlier);
	if (hot.entries == NULL || !prepare_all(&hot)) {
		status = problem_set(reterr, "cannot use %s: %s", path,
		    segment_error(hot.segment));
		goto fail;
	}
	*ret = hot;
	return STATUS_OK;
fail:
	hot_close(&hot, false);
	return status;
}

/* What the segment behind hot is told; borrows from hot and bytes. */
static struct segment_birth
birth_of_next(const struct hot *hot, unsigned char bytes[START_ROOM])
{
	struct cursor_writer out = cursor_writer_of(bytes, START_ROOM);
	struct start start;

	chain_start(hot->chain, &start);
	start_write(&start, &out);
	return (struct segment_birth){ .number = hot->number + 1,
		.chain = chain_name(hot->chain),
		.key = chain_key(hot->chain),
		.start = cursor_of(bytes, out.used) };
}

/* ---- runs that go on in the next segment ---- */

static struct binding
bind_to(struct hot *hot, enum statement which)
{
	return (struct binding){ .statement = hot->statements[which] };
}

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

static int insert_row(struct store *store, struct hot *hot,
    const struct store_run *run, const struct event *event);

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
	sqlite3_stmt *statement = hot->statements[CONTINUE_RUN];
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
		if (sqlite3_get_autocommit(segment_handle(hot->segment)) == 0)
			(void)!segment_run(hot->segment, "ROLLBACK");
		chain_forget(hot->chain);
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
	int status = hot_open(store, &birth, &store->hot, reterr);

	if (status != STATUS_NOT_FOUND)
		return status;
	birth.number = number - 1;
	status = hot_open(store, &birth, &before, reterr);
	if (status != STATUS_OK)
		return status;
	birth = birth_of_next(&before, bytes);
	status = hot_open(store, &birth, &store->hot, reterr);
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
	birth = birth_of_next(&store->hot, bytes);
	status = hot_open(store, &birth, &next, reterr);
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
	struct binding binding = bind_to(&store->hot, FIND_RUN);
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
	struct binding binding = bind_to(&store->hot, OWNER_OF_ROW);
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
	if (sqlite3_get_autocommit(segment_handle(hot->segment)) == 0)
		(void)!segment_run(hot->segment, "ROLLBACK");
	chain_forget(hot->chain);
	return status;
}

void
store_rollback(struct store *store)
{
	/* A full disk may have rolled it back already. */
	if (sqlite3_get_autocommit(segment_handle(store->hot.segment)) == 0)
		(void)!segment_run(store->hot.segment, "ROLLBACK");
	entries_forget(store->hot.entries);
	chain_forget(store->hot.chain);
	store->next_seq = store->committed_seq;
	store->next_run = store->committed_run;
	if (store->hot.first_seq >= store->next_seq)
		store->hot.first_seq = 0;
}

int
store_add_run(struct store *store, struct store_run *run, int64_t started_us)
{
	struct binding binding = bind_to(&store->hot, INSERT_RUN);

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
	struct binding binding = bind_to(&store->hot, END_RUN);

	binding_id(&binding, run->id);
	binding_id(&binding, us);
	return binding_finish(&binding);
}

/* In the order of the columns of INSERT_EVENT. */
static void
bind_event(struct binding *binding, const struct store_run *run,
    const struct event *event, const struct entry_ids *ids)
{
	binding_id(binding, event->ts_us);
	binding_id(binding, event->kind);
	binding_id(binding, event->verdict);
	binding_id(binding, event->reason);
	binding_number(binding, run == NULL ? 0 : run->id, 0);
	binding_number(binding, ids->principal, 0);
	binding_number(binding, ids->policy, 0);
	binding_number(binding, ids->rule, 0);
	binding_number(binding, event->flow_id, -1);
	binding_blob(binding, event->req_id.at, event->req_id.left);
	binding_number(binding, event->parent_seq, -1);
	binding_number(binding, ids->dst, 0);
	binding_blob(binding, event->dst_ip.bytes, event->dst_ip.length);
	binding_number(binding, event->dst_port, -1);
	binding_number(binding, event->l7, -1);
	binding_number(binding, event->tls, -1);
	binding_optional(binding, event->verb);
	binding_optional(binding, event->object);
	binding_number(binding, event->status, -1);
	binding_number(binding, ids->cred, 0);
	binding_number(binding, event->bytes_out, -1);
	binding_number(binding, event->bytes_in, -1);
	binding_number(binding, event->dur_us, -1);
	binding_optional(binding, event->detail);
}

static int
insert_row(struct store *store, struct hot *hot, const struct store_run *run,
    const struct event *event)
{
	struct binding binding;
	struct entry_ids ids;
	int status = entries_find(hot->entries, run, event, &ids);

	if (status != STATUS_OK)
		return status;
	binding = bind_to(hot, INSERT_EVENT);
	binding_id(&binding, store->next_seq);
	bind_event(&binding, run, event, &ids);
	status = binding_finish(&binding);
	if (status != STATUS_OK)
		return status;
	chain_row(hot->chain, store->next_seq, event, &ids.keys);
	if (hot->first_seq == 0)
		hot->first_seq = store->next_seq;
	store->next_seq++;
	return STATUS_OK;
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
	sqlite3_stmt *statement = store->hot.statements[LOST_RUNS];
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
