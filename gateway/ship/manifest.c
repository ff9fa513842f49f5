#include "gateway/ship/manifest.h"

#define KEEP "DO NOTHING"

static const struct manifest tables[] = {
	{ "meta", MANIFEST_ALWAYS,
	    "SELECT :ids, k, typeof(v), "
	    "CASE typeof(v) WHEN 'blob' THEN hex(v) ELSE v || '' END FROM meta",
	    "(id, k) DO UPDATE SET v = EXCLUDED.v, type = EXCLUDED.type" },
	{ "kind", MANIFEST_ONCE, "SELECT id, name FROM kind", KEEP },
	{ "verdict", MANIFEST_ONCE, "SELECT id, name FROM verdict", KEEP },
	{ "reason", MANIFEST_ONCE, "SELECT id, name, fault FROM reason", KEEP },
	{ "sandbox", MANIFEST_ID,
	    "SELECT id + :ids, uid, tenant, image, image_digest, runtime, "
	    "host, owner, started_us, ended_us, labels FROM sandbox "
	    "WHERE id > :after",
	    KEEP },
	{ "principal", MANIFEST_ID,
	    "SELECT id + :ids, sub, type FROM principal WHERE id > :after",
	    KEEP },
	{ "dst", MANIFEST_ID,
	    "SELECT id + :ids, host, reg_domain, is_ip, first_us, "
	    "first_sandbox + :ids FROM dst WHERE id > :after",
	    KEEP },
	{ "cred", MANIFEST_ID,
	    "SELECT id + :ids, name, provider, type, bound_hosts, fp "
	    "FROM cred WHERE id > :after",
	    KEEP },
	{ "token", MANIFEST_ID,
	    "SELECT id + :ids, jti, parent_id + :ids, root_id + :ids, depth, "
	    "sub_on_behalf, act, principal_id + :ids, sandbox_id + :ids, aud, "
	    "scope, cnf, txn, iat, exp, revoked_us, revoke_why FROM token "
	    "WHERE id > :after",
	    KEEP },
	{ "policy", MANIFEST_ID,
	    "SELECT id + :ids, sha256, loaded_us, loaded_by, body FROM policy "
	    "WHERE id > :after",
	    KEEP },
	{ "rule", MANIFEST_ID,
	    "SELECT id + :ids, policy_id + :ids, name FROM rule "
	    "WHERE id > :after",
	    KEEP },
	{ "event", MANIFEST_SEQ,
	    "SELECT seq + :base, ts_us, kind, verdict, reason, "
	    "sandbox_id + :ids, principal_id + :ids, token_id + :ids, "
	    "policy_id + :ids, rule_id + :ids, flow_id, req_id, "
	    "parent_seq + :base, dst_id + :ids, dst_ip, dst_port, l7, tls, "
	    "verb, object, status, cred_id + :ids, bytes_out, bytes_in, "
	    "dur_us, detail FROM event WHERE seq > :after AND seq <= :last",
	    KEEP },
	/* How runs and tokens ended, by the rows that say so. */
	{ "sandbox", MANIFEST_SEQ,
	    "SELECT id + :ids, uid, tenant, image, image_digest, runtime, "
	    "host, owner, started_us, ended_us, labels FROM sandbox "
	    "WHERE ended_us IS NOT NULL AND id IN (SELECT sandbox_id "
	    "FROM event WHERE kind = 16 AND kind NOT IN (1, 2, 5) "
	    "AND seq > :after AND seq <= :last)",
	    "(id) DO UPDATE SET ended_us = EXCLUDED.ended_us" },
	{ "token", MANIFEST_SEQ,
	    "SELECT id + :ids, jti, parent_id + :ids, root_id + :ids, depth, "
	    "sub_on_behalf, act, principal_id + :ids, sandbox_id + :ids, aud, "
	    "scope, cnf, txn, iat, exp, revoked_us, revoke_why FROM token "
	    "WHERE revoked_us IS NOT NULL AND EXISTS (SELECT 1 FROM event "
	    "WHERE kind = 8 AND kind NOT IN (1, 2, 5) AND seq > :after "
	    "AND seq <= :last)",
	    "(id) DO UPDATE SET revoked_us = EXCLUDED.revoked_us, "
	    "revoke_why = EXCLUDED.revoke_why" },
	{ "block", MANIFEST_SEQ,
	    "SELECT no + :base, :segment, first_seq + :base, "
	    "last_seq + :base, first_us, last_us, root, prev, hash, "
	    "last_sandbox, last_principal, last_dst, last_cred, last_token, "
	    "last_policy, last_rule, last_checkpoint, names FROM block "
	    "WHERE last_seq > :after AND last_seq <= :last",
	    KEEP },
	{ "checkpoint", MANIFEST_SEQ,
	    "SELECT size + :base, :segment, us, root, note FROM checkpoint "
	    "WHERE size >= (SELECT ifnull(max(no), 0) FROM block "
	    "WHERE last_seq <= :after) AND size <= "
	    "(SELECT ifnull(max(no), 0) FROM block WHERE last_seq <= :last)",
	    KEEP },
};

const struct manifest *
manifest_tables(size_t *ret_count)
{
	*ret_count = sizeof(tables) / sizeof(tables[0]);
	return tables;
}

/* The ids of a segment are 2^24 numbers. */
#define OF_SEGMENT(column) \
	column " > $2::bigint AND " column " <= $2::bigint + 16777215"

static const struct manifest_back back[] = {
	{ "meta", "SELECT k, CASE type WHEN 'integer' THEN v END::bigint, "
		  "CASE type WHEN 'text' THEN v END, "
		  "CASE type WHEN 'blob' THEN decode(v, 'hex') END "
		  "FROM exeat.meta WHERE id = $2::bigint AND $1::bigint > 0" },
	{ "sandbox",
	    "SELECT id - $2::bigint, uid, tenant, image, image_digest, "
	    "runtime, host, owner, started_us, ended_us, labels "
	    "FROM exeat.sandbox WHERE $1::bigint > 0 AND " OF_SEGMENT(
		"id") " ORDER BY id" },
	{ "principal",
	    "SELECT id - $2::bigint, sub, type FROM exeat.principal "
	    "WHERE $1::bigint > 0 AND " OF_SEGMENT("id") " ORDER BY id" },
	{ "dst", "SELECT id - $2::bigint, host, reg_domain, is_ip, first_us, "
		 "first_sandbox - $2::bigint FROM exeat.dst "
		 "WHERE $1::bigint > 0 AND " OF_SEGMENT("id") " ORDER BY id" },
	{ "cred",
	    "SELECT id - $2::bigint, name, provider, type, bound_hosts, fp "
	    "FROM exeat.cred WHERE $1::bigint > 0 AND " OF_SEGMENT(
		"id") " ORDER BY id" },
	{ "token",
	    "SELECT id - $2::bigint, jti, parent_id - $2::bigint, "
	    "root_id - $2::bigint, depth, sub_on_behalf, act, "
	    "principal_id - $2::bigint, sandbox_id - $2::bigint, aud, scope, "
	    "cnf, txn, iat, exp, revoked_us, revoke_why FROM exeat.token "
	    "WHERE $1::bigint > 0 AND " OF_SEGMENT("id") " ORDER BY id" },
	{ "policy",
	    "SELECT id - $2::bigint, sha256, loaded_us, loaded_by, body "
	    "FROM exeat.policy WHERE $1::bigint > 0 AND " OF_SEGMENT(
		"id") " ORDER BY id" },
	{ "rule", "SELECT id - $2::bigint, policy_id - $2::bigint, name "
		  "FROM exeat.rule WHERE $1::bigint > 0 AND " OF_SEGMENT(
		      "id") " ORDER BY id" },
	{ "event",
	    "SELECT seq - $1::bigint, ts_us, kind, verdict, reason, "
	    "sandbox_id - $2::bigint, principal_id - $2::bigint, "
	    "token_id - $2::bigint, policy_id - $2::bigint, "
	    "rule_id - $2::bigint, flow_id, req_id, "
	    "parent_seq - $1::bigint, dst_id - $2::bigint, dst_ip, dst_port, "
	    "l7, tls, verb, object, status, cred_id - $2::bigint, bytes_out, "
	    "bytes_in, dur_us, detail FROM exeat.event WHERE seq BETWEEN "
	    "(SELECT min(first_seq) FROM exeat.block WHERE segment = "
	    "($2::bigint - $1::bigint) >> 24 AND no > $1::bigint "
	    "AND no < $1::bigint + 281474976710656) AND "
	    "(SELECT max(last_seq) FROM exeat.block WHERE segment = "
	    "($2::bigint - $1::bigint) >> 24 AND no > $1::bigint "
	    "AND no < $1::bigint + 281474976710656) ORDER BY seq" },
	{ "block",
	    "SELECT no - $1::bigint, first_seq - $1::bigint, "
	    "last_seq - $1::bigint, first_us, last_us, root, prev, hash, "
	    "last_sandbox, last_principal, last_dst, last_cred, last_token, "
	    "last_policy, last_rule, last_checkpoint, names FROM exeat.block "
	    "WHERE segment = ($2::bigint - $1::bigint) >> 24 "
	    "AND no > $1::bigint AND no < $1::bigint + 281474976710656 "
	    "ORDER BY no" },
	{ "checkpoint",
	    "SELECT size - $1::bigint, us, root, note FROM exeat.checkpoint "
	    "WHERE segment = ($2::bigint - $1::bigint) >> 24 "
	    "AND size > $1::bigint AND size < $1::bigint + 281474976710656 "
	    "ORDER BY size" },
};

const struct manifest_back *
manifest_back(size_t *ret_count)
{
	*ret_count = sizeof(back) / sizeof(back[0]);
	return back;
}
