#include "gateway/audit/entries.h"

#include "gateway/audit/binding.h"
#include "gateway/audit/dictionary.h"
#include "gateway/audit/earlier.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/store_run.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>

enum statement {
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
	[FIND_PRINCIPAL] = "SELECT id FROM principal WHERE sub = ?",
	[ADD_PRINCIPAL] = "INSERT INTO principal(sub, type) VALUES(?, 'agent')",
	[FIND_DST] = "SELECT id FROM dst WHERE host = ?",
	[ADD_DST] = "INSERT INTO dst(host, reg_domain, is_ip, first_us, "
		    "first_sandbox) VALUES(?, ?, ?, ?, ?)",
	[FIND_CRED] = "SELECT id FROM cred WHERE name = ?",
	/* What it is bound to stays with the broker; q04 asks its rows. */
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

/* The id of a policy that no segment has, so that they are asked once. */
enum {
	UNKNOWN = -1
};

struct entries {
	struct segment *segment;
	struct earlier *earlier;
	struct dictionary *dictionary;
	sqlite3_stmt *statements[STATEMENT_COUNT];
};

struct entries *
entries_new(struct segment *segment, struct earlier *earlier)
{
	struct entries *entries = calloc(1, sizeof(*entries));

	if (entries == NULL)
		return NULL;
	entries->segment = segment;
	entries->earlier = earlier;
	entries->dictionary = dictionary_new();
	if (entries->dictionary == NULL)
		goto fail;
	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		entries->statements[i] = segment_prepare(segment, texts[i]);
		if (entries->statements[i] == NULL)
			goto fail;
	}
	return entries;
fail:
	entries_free(entries);
	return NULL;
}

void
entries_free(struct entries *entries)
{
	if (entries == NULL)
		return;
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(entries->statements[i]);
	dictionary_free(entries->dictionary);
	free(entries);
}

void
entries_begin(struct entries *entries)
{
	dictionary_begin(entries->dictionary);
}

void
entries_forget(struct entries *entries)
{
	dictionary_forget(entries->dictionary);
}

static struct binding
bind_to(struct entries *entries, enum statement which)
{
	return (struct binding){ .statement = entries->statements[which] };
}

/* Remembers what the last insert has made. */
static int
remember(struct entries *entries, enum dictionary_table table,
    struct cursor key, int64_t *ret)
{
	*ret = sqlite3_last_insert_rowid(segment_handle(entries->segment));
	dictionary_add(entries->dictionary, table, key, *ret);
	return STATUS_OK;
}

/* In memory, or in the table by its one text column. */
static int
find_text(struct entries *entries, enum dictionary_table table,
    enum statement find, struct cursor key, int64_t *ret)
{
	struct binding binding;
	int64_t id = dictionary_find(entries->dictionary, table, key);
	int status;

	if (id == 0) {
		binding = bind_to(entries, find);
		binding_text(&binding, key);
		status = binding_look_up(&binding, &id);
		if (status != STATUS_OK)
			return status;
		dictionary_add(entries->dictionary, table, key, id);
	}
	*ret = id;
	return STATUS_OK;
}

/* A principal or a credential: a name and nothing else we know. */
static int
name_id(struct entries *entries, enum dictionary_table table,
    enum statement find, enum statement add, struct cursor name, int64_t *ret)
{
	int status = find_text(entries, table, find, name, ret);
	struct binding binding;

	if (status != STATUS_NOT_FOUND)
		return status;
	binding = bind_to(entries, add);
	binding_text(&binding, name);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(entries, table, name, ret);
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
dst_id(struct entries *entries, const struct store_run *run,
    const struct event *event, int64_t *ret)
{
	struct cursor host = event->host;
	struct address address;
	struct binding binding;
	bool literal;
	int status;

	status = find_text(entries, DICTIONARY_DST, FIND_DST, host, ret);
	if (status != STATUS_NOT_FOUND)
		return status;
	literal = address_parse((const char *)host.at, host.left, &address) ==
		  STATUS_OK;
	binding = bind_to(entries, ADD_DST);
	binding_text(&binding, host);
	binding_text(&binding, literal ? host : last_labels(host));
	binding_id(&binding, literal ? 1 : 0);
	binding_id(&binding, event->ts_us);
	binding_number(&binding, run == NULL ? 0 : run->id, 0);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(entries, DICTIONARY_DST, host, ret);
}

/* STATUS_NOT_FOUND when no policy of this digest was loaded. */
static int
find_policy(struct entries *entries, struct cursor sha256, int64_t *ret)
{
	int64_t id =
	    dictionary_find(entries->dictionary, DICTIONARY_POLICY, sha256);
	struct binding binding;
	int status;

	if (id == UNKNOWN)
		return STATUS_NOT_FOUND;
	if (id == 0) {
		binding = bind_to(entries, FIND_POLICY);
		binding_blob(&binding, sha256.at, sha256.left);
		status = binding_look_up(&binding, &id);
		if (status != STATUS_OK)
			return status;
		dictionary_add(
		    entries->dictionary, DICTIONARY_POLICY, sha256, id);
	}
	*ret = id;
	return STATUS_OK;
}

int
entries_add_policy(struct entries *entries, const struct store_policy *policy)
{
	struct cursor sha256 =
	    cursor_of(policy->about.sha256, sizeof(policy->about.sha256));
	struct binding binding;
	int64_t id;
	int status = find_policy(entries, sha256, &id);

	if (status != STATUS_NOT_FOUND)
		return status;
	binding = bind_to(entries, ADD_POLICY);
	binding_blob(&binding, sha256.at, sha256.left);
	binding_id(&binding, policy->loaded_us);
	binding_text(&binding, cursor_of_text(policy->about.loaded_by));
	binding_text(&binding, policy->body);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(entries, DICTIONARY_POLICY, sha256, &id);
}

/* A run goes on under the policies of the segment it began in. */
static int
policy_id(struct entries *entries, struct cursor sha256, int64_t *ret)
{
	struct store_policy policy;
	int status = find_policy(entries, sha256, ret);

	if (status != STATUS_NOT_FOUND ||
	    dictionary_find(entries->dictionary, DICTIONARY_POLICY, sha256) ==
		UNKNOWN)
		return status;
	if (earlier_policy(entries->earlier, sha256, &policy) != STATUS_OK) {
		dictionary_add(
		    entries->dictionary, DICTIONARY_POLICY, sha256, UNKNOWN);
		return STATUS_NOT_FOUND;
	}
	status = entries_add_policy(entries, &policy);
	if (status != STATUS_OK)
		return status;
	return find_policy(entries, sha256, ret);
}

static int
rule_id(
    struct entries *entries, int64_t policy, struct cursor rule, int64_t *ret)
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
	id = dictionary_find(entries->dictionary, DICTIONARY_RULE, key);
	if (id != 0) {
		*ret = id;
		return STATUS_OK;
	}
	binding = bind_to(entries, FIND_RULE);
	binding_id(&binding, policy);
	binding_text(&binding, rule);
	status = binding_look_up(&binding, &id);
	if (status == STATUS_OK) {
		dictionary_add(entries->dictionary, DICTIONARY_RULE, key, id);
		*ret = id;
	}
	if (status != STATUS_NOT_FOUND)
		return status;
	binding = bind_to(entries, ADD_RULE);
	binding_id(&binding, policy);
	binding_text(&binding, rule);
	if (binding_finish(&binding) != STATUS_OK)
		return STATUS_SYSTEM;
	return remember(entries, DICTIONARY_RULE, key, ret);
}

/* A policy that was never loaded leaves the row without policy and rule. */
static int
policy_ids(struct entries *entries, const struct store_run *run,
    const struct event *event, struct entry_ids *ids)
{
	struct cursor sha256 = event->policy;
	int status;

	if (sha256.left == 0 && event->rule.left > 0 && run != NULL &&
	    run->has_policy)
		sha256 = cursor_of(run->policy, sizeof(run->policy));
	if (sha256.left == 0)
		return STATUS_OK;
	status = policy_id(entries, sha256, &ids->policy);
	if (status != STATUS_OK)
		return status == STATUS_NOT_FOUND ? STATUS_OK : status;
	ids->keys.policy = sha256;
	if (event->rule.left == 0)
		return STATUS_OK;
	ids->keys.rule = event->rule;
	return rule_id(entries, ids->policy, event->rule, &ids->rule);
}

int
entries_find(struct entries *entries, const struct store_run *run,
    const struct event *event, struct entry_ids *ret)
{
	struct entry_ids ids = { .principal = 0 };
	int status = policy_ids(entries, run, event, &ids);

	if (run != NULL) {
		ids.keys.sandbox = cursor_of_text(run->about.uid);
		ids.keys.principal = cursor_of_text(run->about.principal);
	}
	if (status == STATUS_OK && run != NULL && run->about.principal[0] != 0)
		status = name_id(entries, DICTIONARY_PRINCIPAL, FIND_PRINCIPAL,
		    ADD_PRINCIPAL, cursor_of_text(run->about.principal),
		    &ids.principal);
	if (status == STATUS_OK && event->host.left > 0)
		status = dst_id(entries, run, event, &ids.dst);
	if (status == STATUS_OK && event->cred.left > 0)
		status = name_id(entries, DICTIONARY_CRED, FIND_CRED, ADD_CRED,
		    event->cred, &ids.cred);
	if (status == STATUS_OK)
		*ret = ids;
	return status;
}
