#include "gateway/audit/hot.h"

#include "gateway/audit/chain.h"
#include "gateway/audit/earlier.h"
#include "gateway/audit/entries.h"
#include "gateway/audit/leaf.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/store_run.h"
#include "schema/event.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>

static const char *const texts[] = {
	[HOT_INSERT_EVENT] =
	    "INSERT INTO event(seq, ts_us, kind, verdict, reason, sandbox_id, "
	    "principal_id, policy_id, rule_id, flow_id, req_id, parent_seq, "
	    "dst_id, dst_ip, dst_port, l7, tls, verb, object, status, "
	    "cred_id, bytes_out, bytes_in, dur_us, detail) VALUES(?1, ?2, ?3, "
	    "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
	    "?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
	[HOT_INSERT_RUN] = "INSERT INTO sandbox(id, uid, image, host, owner, "
			   "started_us, labels) VALUES(?, ?, ?, ?, ?, ?, ?)",
	/* The columns of earlier_open_runs(), behind the id. */
	[HOT_CONTINUE_RUN] =
	    "INSERT INTO sandbox(id, uid, tenant, image, image_digest, "
	    "runtime, host, owner, started_us, labels) "
	    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[HOT_END_RUN] = "UPDATE sandbox SET ended_us = ?2 WHERE id = ?1",
	[HOT_FIND_RUN] = "SELECT id FROM sandbox WHERE uid = ?",
	[HOT_LOST_RUNS] = "SELECT id, uid FROM sandbox WHERE ended_us IS NULL "
			  "ORDER BY id",
	[HOT_OWNER_OF_ROW] = "SELECT sandbox_id FROM event WHERE seq = ?",
};

static_assert(sizeof(texts) / sizeof(texts[0]) == HOT_STATEMENT_COUNT,
    "every statement has a text");

void
hot_close(struct hot *hot, bool leave_log)
{
	for (size_t i = 0; i < HOT_STATEMENT_COUNT; i++)
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
	for (size_t i = 0; i < HOT_STATEMENT_COUNT; i++) {
		hot->statements[i] = segment_prepare(hot->segment, texts[i]);
		if (hot->statements[i] == NULL)
			return false;
	}
	return segment_number(hot->segment,
		   "SELECT ifnull(min(seq), 0) FROM event", &hot->first_seq) &&
	       segment_run(hot->segment, "PRAGMA synchronous = FULL");
}

int
hot_open(const char *audit, const struct segment_birth *birth, struct hot *ret,
    struct problem *reterr)
{
	struct hot hot = { .number = birth->number };
	char path[SHELF_PATH];
	int status = shelf_path(audit, birth->number, path, reterr);

	if (status == STATUS_OK)
		status = segment_open(path, birth, &hot.segment, reterr);
	if (status == STATUS_OK)
		status = shelf_sync(audit, reterr);
	if (status == STATUS_OK)
		status = chain_open(audit, hot.segment, &hot.chain, reterr);
	if (status != STATUS_OK)
		goto fail;
	hot.earlier = earlier_new(audit, birth->number);
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

struct segment_birth
hot_next_birth(const struct hot *hot, unsigned char bytes[START_ROOM])
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

struct binding
hot_binding(const struct hot *hot, enum hot_statement which)
{
	return (struct binding){ .statement = hot->statements[which] };
}

/* In the order of the columns of HOT_INSERT_EVENT. */
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

int
hot_insert(struct hot *hot, int64_t seq, const struct store_run *run,
    const struct event *event)
{
	struct binding binding;
	struct entry_ids ids;
	int status = entries_find(hot->entries, run, event, &ids);

	if (status != STATUS_OK)
		return status;
	binding = hot_binding(hot, HOT_INSERT_EVENT);
	binding_id(&binding, seq);
	bind_event(&binding, run, event, &ids);
	status = binding_finish(&binding);
	if (status != STATUS_OK)
		return status;
	chain_row(hot->chain, seq, event, &ids.keys);
	if (hot->first_seq == 0)
		hot->first_seq = seq;
	return STATUS_OK;
}

void
hot_roll_back(struct hot *hot)
{
	/* A full disk may have rolled it back already. */
	if (sqlite3_get_autocommit(segment_handle(hot->segment)) == 0)
		(void)!segment_run(hot->segment, "ROLLBACK");
	chain_forget(hot->chain);
}
