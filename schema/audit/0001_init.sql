-- One segment of the audit: every file has its own dictionary rows, so that
-- it can be copied, shipped or deleted alone.  _us are UTC microseconds since
-- 1970, bytes are octets, addresses are blobs of 4 or 16 bytes.

CREATE TABLE meta(k TEXT PRIMARY KEY, v ANY NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE verdict(id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
-- fault: policy, client, upstream or gateway
CREATE TABLE reason(id INTEGER PRIMARY KEY, name TEXT NOT NULL,
  fault TEXT NOT NULL) STRICT;
CREATE TABLE sandbox(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE,
  tenant TEXT, image TEXT, image_digest TEXT, runtime TEXT, host TEXT,
  owner TEXT, started_us INTEGER NOT NULL, ended_us INTEGER,
  labels TEXT) STRICT;
-- type: agent, user, operator or service
CREATE TABLE principal(id INTEGER PRIMARY KEY, sub TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL) STRICT;
-- reg_domain: the last two labels, or the address
CREATE TABLE dst(id INTEGER PRIMARY KEY, host TEXT NOT NULL UNIQUE,
  reg_domain TEXT NOT NULL, is_ip INTEGER NOT NULL,
  first_us INTEGER NOT NULL, first_sandbox INTEGER) STRICT;
-- bound_hosts: JSON array of reg_domain; fp: keyed fingerprint
CREATE TABLE cred(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  provider TEXT NOT NULL, type TEXT NOT NULL, bound_hosts TEXT NOT NULL,
  fp TEXT) STRICT;
CREATE TABLE token(id INTEGER PRIMARY KEY, jti TEXT NOT NULL UNIQUE,
  parent_id INTEGER REFERENCES token(id), root_id INTEGER,
  depth INTEGER NOT NULL, sub_on_behalf TEXT, act TEXT,
  principal_id INTEGER NOT NULL, sandbox_id INTEGER, aud TEXT NOT NULL,
  scope TEXT NOT NULL, cnf TEXT, txn TEXT, iat INTEGER NOT NULL,
  exp INTEGER NOT NULL, revoked_us INTEGER, revoke_why TEXT) STRICT;
CREATE INDEX token_parent ON token(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX token_root ON token(root_id);
CREATE TABLE policy(id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE,
  loaded_us INTEGER NOT NULL, loaded_by TEXT NOT NULL,
  body TEXT NOT NULL) STRICT;
CREATE TABLE rule(id INTEGER PRIMARY KEY,
  policy_id INTEGER NOT NULL REFERENCES policy(id), name TEXT NOT NULL,
  UNIQUE(policy_id, name)) STRICT;

CREATE TABLE event(
  seq INTEGER PRIMARY KEY,  -- without gaps
  ts_us INTEGER NOT NULL,   -- when it was decided
  kind INTEGER NOT NULL, verdict INTEGER NOT NULL,
  reason INTEGER NOT NULL DEFAULT 0,
  sandbox_id INTEGER, principal_id INTEGER, token_id INTEGER,
  policy_id INTEGER, rule_id INTEGER,
  flow_id INTEGER,          -- connection
  req_id BLOB,              -- 16 bytes
  parent_seq INTEGER,       -- end to intent, decision to question
  dst_id INTEGER, dst_ip BLOB, dst_port INTEGER,
  l7 INTEGER,               -- 0 tcp 1 http1 2 h2 3 h3 4 ws 5 dns 6 grpc
                            -- 7 mcp 8 exec 9 internal
  tls INTEGER,              -- 0 none, 0x0303, 0x0304; negative: not decrypted
  verb TEXT,                -- HTTP method, DNS type, MCP method
  object TEXT,              -- path without query values, executable, name
  status INTEGER,           -- HTTP status, DNS code, exit code
  cred_id INTEGER,          -- the credential put in
  bytes_out INTEGER, bytes_in INTEGER, dur_us INTEGER,
  detail TEXT               -- a JSON object of the kind, at most 4 KiB
) STRICT;
-- Few, and appended at their right edge or rare: this file is being filled.
CREATE INDEX ev_ts ON event(ts_us);
CREATE INDEX ev_bad ON event(verdict, reason) WHERE verdict <> 1;
CREATE INDEX ev_rare ON event(kind) WHERE kind NOT IN (1, 2, 5);

CREATE TABLE block(no INTEGER PRIMARY KEY, first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL, first_us INTEGER NOT NULL,
  last_us INTEGER NOT NULL, root BLOB NOT NULL, prev BLOB NOT NULL,
  hash BLOB NOT NULL) STRICT;

CREATE VIEW v_event AS
SELECT e.seq,
  strftime('%Y-%m-%dT%H:%M:%S', e.ts_us / 1000000, 'unixepoch')
    || printf('.%03dZ', e.ts_us / 1000 % 1000) AS at,
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
-- The list is made once; asked row by row it would need one more index.
CREATE VIEW v_open_intent AS
SELECT i.* FROM v_event i
WHERE i.kind = 'http_intent' AND i.seq NOT IN (
  SELECT parent_seq FROM event WHERE kind = 1 AND parent_seq IS NOT NULL);
