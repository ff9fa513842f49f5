-- A fleet's PostgreSQL: the rows of many audits, under the names they have there.
--
-- Every audit has a number, and its numbers begin at gateway.base: a seq or a
-- block's no is its own and that, an id is its own, that, and 2^24 for each
-- segment.  So one text of a question joins rows of all of them.
-- exeat_writer may add, say once how a run or a token ended, and what a segment
-- says of itself; exeat_analyst may read; nobody may change or remove a row.

DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'exeat_writer') THEN
    CREATE ROLE exeat_writer NOLOGIN;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'exeat_analyst') THEN
    CREATE ROLE exeat_analyst NOLOGIN;
  END IF;
END $$;
CREATE SCHEMA exeat;
SET search_path TO exeat;

CREATE TABLE gateway(no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain text NOT NULL UNIQUE, host text NOT NULL,
  base bigint GENERATED ALWAYS AS (no << 48) STORED);
CREATE TABLE meta(id bigint NOT NULL, k text NOT NULL, type text NOT NULL,
  v text NOT NULL, PRIMARY KEY(id, k));
CREATE TABLE kind(id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE verdict(id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE reason(id bigint PRIMARY KEY, name text NOT NULL,
  fault text NOT NULL);
CREATE TABLE sandbox(id bigint PRIMARY KEY, uid text NOT NULL, tenant text,
  image text, image_digest text, runtime text, host text, owner text,
  started_us bigint NOT NULL, ended_us bigint, labels text);
CREATE TABLE principal(id bigint PRIMARY KEY, sub text NOT NULL,
  type text NOT NULL);
CREATE TABLE dst(id bigint PRIMARY KEY, host text NOT NULL,
  reg_domain text NOT NULL, is_ip bigint NOT NULL, first_us bigint NOT NULL,
  first_sandbox bigint);
CREATE TABLE cred(id bigint PRIMARY KEY, name text NOT NULL,
  provider text NOT NULL, type text NOT NULL, bound_hosts text NOT NULL,
  fp text);
CREATE TABLE token(id bigint PRIMARY KEY, jti text NOT NULL, parent_id bigint,
  root_id bigint, depth bigint NOT NULL, sub_on_behalf text, act text,
  principal_id bigint NOT NULL, sandbox_id bigint, aud text NOT NULL,
  scope text NOT NULL, cnf text, txn text, iat bigint NOT NULL,
  exp bigint NOT NULL, revoked_us bigint, revoke_why text);
CREATE TABLE policy(id bigint PRIMARY KEY, sha256 bytea NOT NULL,
  loaded_us bigint NOT NULL, loaded_by text NOT NULL, body text NOT NULL);
CREATE TABLE rule(id bigint PRIMARY KEY, policy_id bigint NOT NULL,
  name text NOT NULL);
CREATE TABLE event(seq bigint PRIMARY KEY, ts_us bigint NOT NULL,
  kind bigint NOT NULL, verdict bigint NOT NULL, reason bigint NOT NULL,
  sandbox_id bigint, principal_id bigint, token_id bigint, policy_id bigint,
  rule_id bigint, flow_id bigint, req_id bytea, parent_seq bigint,
  dst_id bigint, dst_ip bytea, dst_port bigint, l7 bigint, tls bigint,
  verb text, object text, status bigint, cred_id bigint, bytes_out bigint,
  bytes_in bigint, dur_us bigint, detail text);
CREATE TABLE block(no bigint PRIMARY KEY, segment bigint NOT NULL,
  first_seq bigint NOT NULL, last_seq bigint NOT NULL,
  first_us bigint NOT NULL, last_us bigint NOT NULL, root bytea NOT NULL,
  prev bytea NOT NULL, hash bytea NOT NULL, last_sandbox bigint NOT NULL,
  last_principal bigint NOT NULL, last_dst bigint NOT NULL,
  last_cred bigint NOT NULL, last_token bigint NOT NULL,
  last_policy bigint NOT NULL, last_rule bigint NOT NULL,
  last_checkpoint bigint NOT NULL, names bytea);
CREATE TABLE checkpoint(size bigint PRIMARY KEY, segment bigint NOT NULL,
  us bigint NOT NULL, root bytea NOT NULL, note text NOT NULL);

CREATE INDEX event_ts ON event USING brin(ts_us);
CREATE INDEX event_sandbox ON event(sandbox_id);
CREATE INDEX event_dst ON event(dst_id);
CREATE INDEX event_parent ON event(parent_seq) WHERE parent_seq IS NOT NULL;
CREATE INDEX event_cred ON event(cred_id) WHERE cred_id IS NOT NULL;
CREATE INDEX event_token ON event(token_id) WHERE token_id IS NOT NULL;
CREATE INDEX event_bad ON event(verdict) WHERE verdict <> 1;
CREATE INDEX sandbox_uid ON sandbox(uid);
CREATE INDEX token_jti ON token(jti);
CREATE INDEX token_parent ON token(parent_id);

-- What the questions say in SQLite's words.
CREATE FUNCTION min(bigint, bigint) RETURNS bigint IMMUTABLE LANGUAGE sql
  AS 'SELECT least($1, $2)';
CREATE FUNCTION max(bigint, numeric) RETURNS numeric IMMUTABLE LANGUAGE sql
  AS 'SELECT greatest($1, $2)';
CREATE FUNCTION max(numeric, bigint) RETURNS numeric IMMUTABLE LANGUAGE sql
  AS 'SELECT greatest($1, $2)';
CREATE FUNCTION hex(bytea) RETURNS text IMMUTABLE LANGUAGE sql
  AS 'SELECT upper(encode($1, ''hex''))';
CREATE FUNCTION printf(text, bigint) RETURNS text IMMUTABLE LANGUAGE sql
  AS 'SELECT lpad($2::text, 16, ''0'')';
CREATE FUNCTION printf(text, integer, text) RETURNS text IMMUTABLE LANGUAGE sql
  AS 'SELECT lpad($3, $2)';
CREATE FUNCTION round(double precision, integer) RETURNS numeric IMMUTABLE
  LANGUAGE sql AS 'SELECT round($1::numeric, $2)';
CREATE FUNCTION truth(bigint, boolean) RETURNS bigint IMMUTABLE LANGUAGE sql
  AS 'SELECT $1 + coalesce($2, false)::int';
CREATE AGGREGATE sum(boolean) (SFUNC = truth, STYPE = bigint, INITCOND = '0');
CREATE FUNCTION ifnull(text, bigint) RETURNS bigint IMMUTABLE LANGUAGE sql
  AS 'SELECT coalesce($1::bigint, $2)';
CREATE FUNCTION instr(text, text) RETURNS integer IMMUTABLE LANGUAGE sql
  AS 'SELECT strpos($1, $2)';
CREATE FUNCTION json_valid(text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
AS $$
BEGIN
  PERFORM $1::json;
  RETURN $1 IS NOT NULL;
EXCEPTION WHEN invalid_text_representation THEN
  RETURN false;
END $$;
-- One name below the top, which is all that a question asks for.
CREATE FUNCTION member(text, text) RETURNS text IMMUTABLE LANGUAGE sql
  AS 'SELECT CASE WHEN $1 LIKE ''{%'' THEN $1::json ->> substr($2, 3) END';
CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = member);
CREATE FUNCTION json_each(text) RETURNS TABLE(value text) IMMUTABLE
  LANGUAGE sql AS 'SELECT json_array_elements_text($1::json)';

CREATE VIEW v_event AS
SELECT e.seq, to_char(timestamp '1970-01-01' + e.ts_us / 1000 * interval '1 millisecond',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
  k.name AS kind, v.name AS verdict, r.name AS reason, s.uid AS sandbox,
  s.tenant, p.sub AS agent, t.sub_on_behalf AS on_behalf, t.jti, d.host,
  e.dst_port AS port, e.verb, e.object, e.status, c.name AS cred,
  e.bytes_out, e.bytes_in, e.dur_us / 1000.0 AS ms, ru.name AS rule,
  hex(e.req_id) AS req, e.flow_id, e.parent_seq, e.detail, e.ts_us
FROM event e
JOIN kind k ON k.id = e.kind
JOIN verdict v ON v.id = e.verdict
LEFT JOIN reason r ON r.id = e.reason
LEFT JOIN sandbox s ON s.id = e.sandbox_id
LEFT JOIN principal p ON p.id = e.principal_id
LEFT JOIN token t ON t.id = e.token_id
LEFT JOIN dst d ON d.id = e.dst_id
LEFT JOIN cred c ON c.id = e.cred_id
LEFT JOIN rule ru ON ru.id = e.rule_id;
CREATE VIEW v_denied AS
SELECT * FROM v_event WHERE verdict IN ('deny', 'would_deny');
CREATE VIEW v_exec AS
SELECT seq, at, sandbox, object AS exe, detail ->> '$.argv' AS argv,
  detail ->> '$.pid' AS pid, detail ->> '$.ppid' AS ppid,
  detail ->> '$.uid' AS uid, detail ->> '$.sha256' AS sha256, parent_seq,
  ts_us
FROM v_event WHERE kind = 'exec';
CREATE VIEW v_open_intent AS
SELECT i.* FROM v_event i WHERE i.kind = 'http_intent' AND NOT EXISTS (
  SELECT 1 FROM event e WHERE e.kind = 1 AND e.parent_seq = i.seq);
CREATE VIEW rollup AS
SELECT e.ts_us / 3600000000 AS hour, s.uid AS sandbox,
  coalesce(s.tenant, '') AS tenant, d.host, coalesce(c.name, '') AS cred,
  e.verdict, count(*) AS n, coalesce(sum(e.bytes_out), 0) AS bytes_out,
  coalesce(sum(e.bytes_in), 0) AS bytes_in, min(e.ts_us) AS first_us,
  max(e.ts_us) AS last_us
FROM event e JOIN sandbox s ON s.id = e.sandbox_id
JOIN dst d ON d.id = e.dst_id LEFT JOIN cred c ON c.id = e.cred_id
WHERE e.kind IN (1, 2) GROUP BY 1, 2, 3, 4, 5, 6;
CREATE VIEW first_seen AS
SELECT DISTINCT ON (scope, d.host) d.host, scope, e.ts_us AS first_us,
  s.uid AS sandbox
FROM event e JOIN sandbox s ON s.id = e.sandbox_id
JOIN dst d ON d.id = e.dst_id LEFT JOIN cred c ON c.id = e.cred_id
CROSS JOIN LATERAL (VALUES (''), ('tenant:' || s.tenant),
  ('image:' || s.image), ('cred:' || c.name)) AS of(scope)
WHERE scope IS NOT NULL AND e.verdict = 1
ORDER BY scope, d.host, e.ts_us;

GRANT USAGE ON SCHEMA exeat TO exeat_writer, exeat_analyst;
GRANT SELECT ON ALL TABLES IN SCHEMA exeat TO exeat_writer, exeat_analyst;
GRANT INSERT ON gateway, meta, kind, verdict, reason, sandbox, principal, dst,
  cred, token, policy, rule, event, block, checkpoint TO exeat_writer;
GRANT UPDATE (v, type) ON meta TO exeat_writer;
GRANT UPDATE (ended_us) ON sandbox TO exeat_writer;
GRANT UPDATE (revoked_us, revoke_why) ON token TO exeat_writer;

-- Once it is said, it stays.
CREATE FUNCTION ends_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF to_jsonb(OLD) ->> TG_ARGV[0] IS NOT NULL THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER sandbox_ends_once BEFORE UPDATE ON sandbox FOR EACH ROW
  EXECUTE FUNCTION ends_once('ended_us');
CREATE TRIGGER token_ends_once BEFORE UPDATE ON token FOR EACH ROW
  EXECUTE FUNCTION ends_once('revoked_us');
