#include "gateway/audit/leaf.h"

#include "gateway/audit/digest.h"
#include "schema/event.h"

#include <assert.h>
#include <sqlite3.h>

const char leaf_event_sql[] =
    "SELECT e.seq, e.ts_us, e.kind, e.verdict, e.reason, s.uid, p.sub, t.jti, "
    "po.sha256, ru.name, e.flow_id, e.req_id, e.parent_seq, d.host, e.dst_ip, "
    "e.dst_port, e.l7, e.tls, e.verb, e.object, e.status, c.name, "
    "e.bytes_out, e.bytes_in, e.dur_us, e.detail, "
    "(e.sandbox_id IS NOT NULL AND s.id IS NULL) OR "
    "(e.principal_id IS NOT NULL AND p.id IS NULL) OR "
    "(e.token_id IS NOT NULL AND t.id IS NULL) OR "
    "(e.policy_id IS NOT NULL AND po.id IS NULL) OR "
    "(e.rule_id IS NOT NULL AND ru.policy_id IS NOT e.policy_id) OR "
    "(e.dst_id IS NOT NULL AND d.id IS NULL) OR "
    "(e.cred_id IS NOT NULL AND c.id IS NULL), e.sandbox_id "
    "FROM event e LEFT JOIN sandbox s ON s.id = e.sandbox_id "
    "LEFT JOIN principal p ON p.id = e.principal_id "
    "LEFT JOIN token t ON t.id = e.token_id "
    "LEFT JOIN policy po ON po.id = e.policy_id "
    "LEFT JOIN rule ru ON ru.id = e.rule_id "
    "LEFT JOIN dst d ON d.id = e.dst_id "
    "LEFT JOIN cred c ON c.id = e.cred_id "
    "WHERE e.seq BETWEEN ?1 AND ?2 ORDER BY e.seq";

const char leaf_names_sql[] =
    "SELECT 'kind', id, name, '' FROM kind UNION ALL "
    "SELECT 'reason', id, name, fault FROM reason UNION ALL "
    "SELECT 'verdict', id, name, '' FROM verdict ORDER BY 1, 2";

#define ENTRIES(name, columns)                                         \
	"SELECT " columns " FROM " name " WHERE id BETWEEN ?1 AND ?2 " \
	"ORDER BY id"
#define LAST(name) "SELECT ifnull(max(id), 0) FROM " name

static const struct {
	const char *name, *sql, *last;
} tables[] = {
	[LEAF_SANDBOX] = { "sandbox",
	    ENTRIES("sandbox",
		"id, uid, tenant, image, image_digest, runtime, host, owner, "
		"started_us, labels"),
	    LAST("sandbox") },
	[LEAF_PRINCIPAL] = { "principal", ENTRIES("principal", "id, sub, type"),
	    LAST("principal") },
	[LEAF_DST] = { "dst",
	    ENTRIES(
		"dst", "id, host, reg_domain, is_ip, first_us, first_sandbox"),
	    LAST("dst") },
	[LEAF_CRED] = { "cred",
	    ENTRIES("cred", "id, name, provider, type, bound_hosts, fp"),
	    LAST("cred") },
	[LEAF_TOKEN] = { "token",
	    ENTRIES("token",
		"id, jti, parent_id, root_id, depth, sub_on_behalf, act, "
		"principal_id, sandbox_id, aud, scope, cnf, txn, iat, exp, "
		"revoked_us, revoke_why"),
	    LAST("token") },
	[LEAF_POLICY] = { "policy",
	    ENTRIES("policy", "id, sha256, loaded_us, loaded_by, body"),
	    LAST("policy") },
	[LEAF_RULE] = { "rule", ENTRIES("rule", "id, policy_id, name"),
	    LAST("rule") },
};

static_assert(sizeof(tables) / sizeof(tables[0]) == LEAF_TABLES,
    "every dictionary has its statements");

const char *
leaf_table_name(enum leaf_table table)
{
	return tables[table].name;
}

const char *
leaf_table_sql(enum leaf_table table)
{
	return tables[table].sql;
}

const char *
leaf_table_last_sql(enum leaf_table table)
{
	return tables[table].last;
}

/* As gateway/audit/binding puts them into the file. */
static void
put_number(struct digester *digester, int64_t number)
{
	if (number == -1)
		digester_null(digester);
	else
		digester_number(digester, number);
}

static void
put_text(struct digester *digester, struct cursor text)
{
	if (text.left == 0)
		digester_null(digester);
	else
		digester_text(digester, text);
}

static void
put_blob(struct digester *digester, struct cursor blob)
{
	if (blob.left == 0)
		digester_null(digester);
	else
		digester_blob(digester, blob);
}

void
leaf_event(struct digester *digester, int64_t seq, const struct event *event,
    const struct leaf_keys *keys)
{
	digester_begin(digester, DIGEST_LEAF);
	digester_number(digester, seq);
	digester_number(digester, event->ts_us);
	digester_number(digester, event->kind);
	digester_number(digester, event->verdict);
	digester_number(digester, event->reason);
	put_text(digester, keys->sandbox);
	put_text(digester, keys->principal);
	/* No producer names a token yet. */
	digester_null(digester);
	put_blob(digester, keys->policy);
	put_text(digester, keys->rule);
	put_number(digester, event->flow_id);
	put_blob(digester, event->req_id);
	put_number(digester, event->parent_seq);
	put_text(digester, event->host);
	put_blob(
	    digester, cursor_of(event->dst_ip.bytes, event->dst_ip.length));
	put_number(digester, event->dst_port);
	put_number(digester, event->l7);
	put_number(digester, event->tls);
	put_text(digester, event->verb);
	put_text(digester, event->object);
	put_number(digester, event->status);
	put_text(digester, event->cred);
	put_number(digester, event->bytes_out);
	put_number(digester, event->bytes_in);
	put_number(digester, event->dur_us);
	put_text(digester, event->detail);
}

void
leaf_entry(struct digester *digester, enum leaf_table table,
    struct sqlite3_stmt *statement)
{
	digester_begin(digester, DIGEST_LEAF);
	digester_text(digester, cursor_of_text(tables[table].name));
	digester_columns(digester, statement, sqlite3_column_count(statement));
}

bool
leaf_names(struct digester *digester, struct sqlite3_stmt *statement)
{
	int result;

	digester_begin(digester, DIGEST_LEAF);
	for (;;) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		digester_columns(
		    digester, statement, sqlite3_column_count(statement));
	}
	return sqlite3_reset(statement) == SQLITE_OK && result == SQLITE_DONE;
}
