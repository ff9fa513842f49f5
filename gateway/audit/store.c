#include "gateway/audit/store.h"

#include "gateway/audit/binding.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/dictionary.h"
#include "gateway/audit/leaf.h"
#include "gateway/audit/segment.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum statement {
	INSERT_EVENT,
	INSERT_RUN,
	END_RUN,
	FIND_RUN,
	LOST_RUNS,
	OWNER_OF_ROW,
	FIND_PRINCIPAL,
	ADD_PRINCIPAL,
	FIND_DST,
	ADD_DST,
	FIND_CRED,
	ADD_CRED,
	FIND_POLICY,
	ADD_POLICY,
	FIND_RULE,
	ADD_RULE,
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
	[END_RUN] = "UPDATE sandbox SET ended_us = ?2 WHERE id = ?1",
	[FIND_RUN] = "SELECT id FROM sandbox WHERE uid = ?",
	[LOST_RUNS] = "SELECT id, uid FROM sandbox WHERE ended_us IS NULL "
		      "ORDER BY id",
	[OWNER_OF_ROW] = "SELECT sandbox_id FROM event WHERE seq = ?",
	[FIND_PRINCIPAL] = "SELECT id FROM principal WHERE sub = ?",
	[ADD_PRINCIPAL] = "INSERT INTO principal(sub, type) VALUES(?, 'agent')",
	[FIND_DST] = "SELECT id FROM dst WHERE host = ?",
	[ADD_DST] = "INSERT INTO dst(host, reg_domain, is_ip, first_us, "
		    "first_sandbox) VALUES(?, ?, ?, ?, ?)",
	[FIND_CRED] = "SELECT id FROM cred WHERE name = ?",
	/* What it is bound to is known to the broker, whose rows say so. */
	[ADD_CRED] = "INSERT INTO cred(name, provider, type, bound_hosts) "
		     "VALUES(?, '', '', '[]')",
	[FIND_POLICY] = "SELECT id FROM policy WHERE sha256 = ?",
	[ADD_POLICY] = "INSERT INTO policy(sha256, loaded_us, loaded_by, body) "
		       "VALUES(?, ?, ?, ?)",
	[FIND_RULE] = "SELECT id FROM rule WHERE policy_id = ? AND name = ?",
	[ADD_RULE] = "INSERT INTO rule(policy_id, name) VALUES(?, ?)",
};

static_assert(sizeof(texts) / sizeof(texts[0]) == STATEMENT_COUNT,
    "every statement has a text");

/*
 * Whose the newest rows are: a row mostly belongs to one that was written a
 * moment ago, and a look into the file costs more than the row itself.
 */
enum {
	OWNER_COUNT = 65536
};

struct store {
	struct segment *segment;
	struct chain *chain;
	struct dictionary *dictionary;
	sqlite3_stmt *statements[STATEMENT_COUNT];
	int64_t next_seq, committed_seq; /* the next one, and at rollback */
	int64_t next_run;
	bool full; /* synchronous=FULL is set */
	int64_t tried_seq; /* behind the highest number ever inserted */
	int64_t owners[OWNER_COUNT]; /* by the last bits; 0: ask the file */
};

const char *
store_error(struct store *store)
{
	if (!store_is_in_place(store))
		return "its file was removed or renamed";
	return segment_error(store->segment);
}

static int
prepare_all(struct store *store, const char *path, struct problem *reterr)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		store->statements[i] =
		    segment_prepare(store->segment, texts[i]);
		if (store->statements[i] == NULL)
			return problem_set(reterr, "cannot use %s: %s", path,
			    store_error(store));
	}
	if (!segment_number(store->segment,
		"SELECT ifnull(max(seq), 0) + 1 FROM event",
		&store->next_seq) ||
	    !segment_number(store->segment,
		"SELECT ifnull(max(id), 0) + 1 FROM sandbox",
		&store->next_run) ||
	    !segment_run(store->segment, "PRAGMA synchronous = FULL"))
		return problem_set(
		    reterr, "cannot read %s: %s", path, store_error(store));
	store->full = true;
	store->committed_seq = store->next_seq;
	return STATUS_OK;
}

int
store_open(const char *path, struct store **ret, struct problem *reterr)
{
	struct store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return problem_set(reterr, "no memory to open %s", path);
	store->dictionary = dictionary_new();
	if (store->dictionary == NULL) {
		(void)problem_set(reterr, "no memory to open %s", path);
		goto fail;
	}
	if (segment_open(path, &store->segment, reterr) != STATUS_OK ||
	    prepare_all(store, path, reterr) != STATUS_OK ||
	    chain_open(path, store->segment, &store->chain, reterr) !=
		STATUS_OK)
		goto fail;
	*ret = store;
	return STATUS_OK;
fail:
	store_close(store);
	return STATUS_PROBLEM;
}

void
store_close(struct store *store)
{
	if (store == NULL)
		return;
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(store->statements[i]);
	chain_close(store->chain);
	segment_close(store->segment);
	dictionary_free(store->dictionary);
	free(store);
}

int64_t
store_run_id(struct store *store)
{
	return store->next_run++;
}

static struct binding
bind_to(struct store *store, enum statement which)
{
	return (struct binding){ .statement = store->statements[which] };
}

int
store_check_run(struct store *store, const char *uid)
{
	struct binding binding = bind_to(store, FIND_RUN);
	int64_t id;
	int status;

	binding_text(&binding, cursor_of_text(uid));
	status = binding_look_up(&binding, &id);
	if (status == STATUS_NOT_FOUND)
		return STATUS_OK;
	return status == STATUS_OK ? STATUS_REFUSED : STATUS_SYSTEM;
}

bool
store_owns(struct store *store, const struct store_run *run, int64_t seq)
{
	struct binding binding = bind_to(store, OWNER_OF_ROW);
	int64_t owner;

	if (seq <= 0 || seq >= store->committed_seq)
		return false;
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
	dictionary_begin(store->dictionary);
	chain_begin(store->chain);
	/* Set outside of a transaction, or it has no effect. */
	if (store->full != disk) {
		if (!segment_run(
			store->segment, disk ? "PRAGMA synchronous = FULL"
					     : "PRAGMA synchronous = NORMAL"))
			return STATUS_SYSTEM;
		store->full = disk;
	}
	if (!segment_run(store->segment, "BEGIN IMMEDIATE"))
		return STATUS_SYSTEM;
	return STATUS_OK;
}

bool
store_is_in_place(struct store *store)
{
	return segment_is_in_place(store->segment);
}

int
store_commit(struct store *store)
{
	int status = chain_seal(store->chain);

	if (status != STATUS_OK)
		return status;
	/* SQLite asks that itself, but not with a write-ahead log. */
	if (!store_is_in_place(store) || !segment_run(store->segment, "COMMIT"))
		return STATUS_SYSTEM;
	chain_keep(store->chain);
	store->committed_seq = store->next_seq;
	segment_checkpoint(store->segment);
	return STATUS_OK;
}

void
store_rollback(struct store *store)
{
	/* A full disk may have rolled it back already. */
	if (sqlite3_get_autocommit(segment_handle(store->segment)) == 0)
		(void)!segment_run(store->segment, "ROLLBACK");
	dictionary_forget(store->dictionary);
	chain_forget(store->chain);
	store->next_seq = store->committed_seq;
}

int
store_add_run(
    struct store *store, const struct store_run *run, int64_t started_us)
{
	struct binding binding = bind_to(store, INSERT_RUN);

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
	struct binding binding = bind_to(store, END_RUN);

	binding_id(&binding, run->id);
	binding_id(&binding, us);
	return binding_finish(&binding);
}

/* Remembers what the last insert has made. */
static int
remember(struct store *store, enum dictionary_table table, struct cursor key,
    int64_t *ret)
{
	*ret = sqlite3_last_insert_rowid(segment_handle(store->segment));
	dictionary_add(store->dictionary, table, key, *ret);
	return STATUS_OK;
}

/* In memory, or in the table by its one text column. */
static int
find_text(struct store *store, enum dictionary_table table, enum statement find,
    struct cursor key, int64_t *ret)
{
	struct binding binding;
	int64_t id = dictionary_find(store->dictionary, table, key);
	int status;

	if (id == 0) {
		binding = bind_to(store, find);
		binding_text(&binding, key);
		status = binding_look_up(&binding, &id);
		if (status != STATUS_OK)
			return status;
		dictionary_add(store->dictionary, table, key, id);
	}
	*ret = id;
	return STATUS_OK;
}

/* A principal or a credential: a name and nothing else we know. */
static int
name_id(struct store *store, enum dictionary_table table, enum statement find,
    enum statement add, struct cursor name, int64_t *ret)
{
	int status = find_text(store, table, find, name, ret);
	struct binding binding;

	if (status != STATUS_NOT_FOUND)
		return status;
	binding = bind_to(store, add);
	binding_text(&binding, name);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(store, table, name, ret);
}

/*
 * The last two labels: where they are a public suffix, this groups more than
 * it should.  The writer reads no suffix list.
 */
static struct cursor
last_labels(struct cursor host)
{
	int dots = 0;

	for (size_t at = host.left; at > 0; at--)
		if (host.at[at - 1] == '.' && ++dots == 2)
			return cursor_of(host.at + at, host.left - at);
	return host;
}

static int
dst_id(struct store *store, const struct store_run *run,
    const struct event *event, int64_t *ret)
{
	struct cursor host = event->host;
	struct address address;
	struct binding binding;
	bool literal;
	int status;

	status = find_text(store, DICTIONARY_DST, FIND_DST, host, ret);
	if (status != STATUS_NOT_FOUND)
		return status;
	literal = address_parse((const char *)host.at, host.left, &address) ==
		  STATUS_OK;
	binding = bind_to(store, ADD_DST);
	binding_text(&binding, host);
	binding_text(&binding, literal ? host : last_labels(host));
	binding_id(&binding, literal ? 1 : 0);
	binding_id(&binding, event->ts_us);
	binding_number(&binding, run == NULL ? 0 : run->id, 0);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(store, DICTIONARY_DST, host, ret);
}

/* STATUS_NOT_FOUND when no policy of this digest was loaded. */
static int
find_policy(struct store *store, struct cursor sha256, int64_t *ret)
{
	int64_t id =
	    dictionary_find(store->dictionary, DICTIONARY_POLICY, sha256);
	struct binding binding;
	int status;

	if (id == 0) {
		binding = bind_to(store, FIND_POLICY);
		binding_blob(&binding, sha256.at, sha256.left);
		status = binding_look_up(&binding, &id);
		if (status != STATUS_OK)
			return status;
		dictionary_add(
		    store->dictionary, DICTIONARY_POLICY, sha256, id);
	}
	*ret = id;
	return STATUS_OK;
}

int
store_add_policy(struct store *store, const struct store_policy *policy)
{
	struct cursor sha256 =
	    cursor_of(policy->about.sha256, sizeof(policy->about.sha256));
	struct binding binding;
	int64_t id;
	int status = find_policy(store, sha256, &id);

	if (status != STATUS_NOT_FOUND)
		return status;
	binding = bind_to(store, ADD_POLICY);
	binding_blob(&binding, sha256.at, sha256.left);
	binding_id(&binding, policy->loaded_us);
	binding_text(&binding, cursor_of_text(policy->about.loaded_by));
	binding_text(&binding, policy->body);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(store, DICTIONARY_POLICY, sha256, &id);
}

static int
rule_id(struct store *store, int64_t policy, struct cursor rule, int64_t *ret)
{
	unsigned char bytes[sizeof(uint64_t) + LIMIT_RULE_ID];
	struct cursor_writer writer = cursor_writer_of(bytes, sizeof(bytes));
	struct binding binding;
	struct cursor key;
	int64_t id;
	int status;

	cursor_put_u64(&writer, (uint64_t)policy);
	cursor_put(&writer, rule.at, rule.left);
	if (!cursor_written(&writer))
		return STATUS_TOO_LONG;
	key = cursor_of(bytes, writer.used);
	id = dictionary_find(store->dictionary, DICTIONARY_RULE, key);
	if (id != 0) {
		*ret = id;
		return STATUS_OK;
	}
	binding = bind_to(store, FIND_RULE);
	binding_id(&binding, policy);
	binding_text(&binding, rule);
	status = binding_look_up(&binding, &id);
	if (status == STATUS_OK) {
		dictionary_add(store->dictionary, DICTIONARY_RULE, key, id);
		*ret = id;
	}
	if (status != STATUS_NOT_FOUND)
		return status;
	binding = bind_to(store, ADD_RULE);
	binding_id(&binding, policy);
	binding_text(&binding, rule);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(store, DICTIONARY_RULE, key, ret);
}

struct ids {
	int64_t principal, policy, rule, dst, cred; /* 0: NULL */
	struct leaf_keys keys; /* what they stand for */
};

/* A policy that was never loaded leaves the row without policy and rule. */
static int
policy_ids(struct store *store, const struct store_run *run,
    const struct event *event, struct ids *ids)
{
	struct cursor sha256 = event->policy;
	int status;

	if (sha256.left == 0 && event->rule.left > 0 && run != NULL &&
	    run->has_policy)
		sha256 = cursor_of(run->policy, sizeof(run->policy));
	if (sha256.left == 0)
		return STATUS_OK;
	status = find_policy(store, sha256, &ids->policy);
	if (status != STATUS_OK)
		return status == STATUS_NOT_FOUND ? STATUS_OK : status;
	ids->keys.policy = sha256;
	if (event->rule.left == 0)
		return STATUS_OK;
	ids->keys.rule = event->rule;
	return rule_id(store, ids->policy, event->rule, &ids->rule);
}

static int
find_ids(struct store *store, const struct store_run *run,
    const struct event *event, struct ids *ret)
{
	struct ids ids = { .principal = 0 };
	int status = policy_ids(store, run, event, &ids);

	if (run != NULL) {
		ids.keys.sandbox = cursor_of_text(run->about.uid);
		ids.keys.principal = cursor_of_text(run->about.principal);
	}
	if (status == STATUS_OK && run != NULL && run->about.principal[0] != 0)
		status = name_id(store, DICTIONARY_PRINCIPAL, FIND_PRINCIPAL,
		    ADD_PRINCIPAL, cursor_of_text(run->about.principal),
		    &ids.principal);
	if (status == STATUS_OK && event->host.left > 0)
		status = dst_id(store, run, event, &ids.dst);
	if (status == STATUS_OK && event->cred.left > 0)
		status = name_id(store, DICTIONARY_CRED, FIND_CRED, ADD_CRED,
		    event->cred, &ids.cred);
	if (status == STATUS_OK)
		*ret = ids;
	return status;
}

/* In the order of the columns of INSERT_EVENT. */
static void
bind_event(struct binding *binding, const struct store_run *run,
    const struct event *event, const struct ids *ids)
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
store_insert(struct store *store, const struct store_run *run,
    const struct event *event, int64_t *ret_seq)
{
	struct binding binding;
	struct ids ids;
	int status = find_ids(store, run, event, &ids);

	if (status != STATUS_OK)
		return status;
	binding = bind_to(store, INSERT_EVENT);
	binding_id(&binding, store->next_seq);
	bind_event(&binding, run, event, &ids);
	status = binding_finish(&binding);
	if (status != STATUS_OK)
		return status;
	chain_row(store->chain, store->next_seq, event, &ids.keys);
	*ret_seq = store->next_seq++;
	store->owners[*ret_seq % OWNER_COUNT] = run == NULL ? 0 : run->id;
	if (store->tried_seq < store->next_seq)
		store->tried_seq = store->next_seq;
	return STATUS_OK;
}

int
store_lost_runs(
    struct store *store, struct store_run *runs, size_t max, size_t *ret_count)
{
	sqlite3_stmt *statement = store->statements[LOST_RUNS];
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
