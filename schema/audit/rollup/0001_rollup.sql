-- What is known of an audit beyond its segments: made from them by the keeper,
-- kept for years, and made anew from what is there when it is removed.  hour
-- is hours since 1970, us are UTC microseconds; names stand for themselves,
-- because the ids of a segment mean nothing elsewhere.

CREATE TABLE meta(k TEXT PRIMARY KEY, v ANY NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE rollup(hour INTEGER NOT NULL, sandbox TEXT NOT NULL,
  tenant TEXT NOT NULL, host TEXT NOT NULL, cred TEXT NOT NULL,
  verdict INTEGER NOT NULL, n INTEGER NOT NULL, err INTEGER NOT NULL,
  bytes_out INTEGER NOT NULL, bytes_in INTEGER NOT NULL,
  first_us INTEGER NOT NULL, last_us INTEGER NOT NULL,
  PRIMARY KEY(hour, host, sandbox, cred, verdict)) STRICT, WITHOUT ROWID;

-- scope: '' (this audit), 'tenant:x', 'image:y' or 'cred:z'
CREATE TABLE first_seen(host TEXT NOT NULL, scope TEXT NOT NULL,
  first_us INTEGER NOT NULL, sandbox TEXT NOT NULL,
  PRIMARY KEY(scope, host)) STRICT, WITHOUT ROWID;

-- The newest of each segment, and those that were kept elsewhere.
CREATE TABLE checkpoint(size INTEGER PRIMARY KEY, us INTEGER NOT NULL,
  root BLOB NOT NULL, note TEXT NOT NULL, anchored_us INTEGER,
  anchor TEXT) STRICT;

-- state: hot, sealing, sealed or pruned; start: where its chain went on from,
-- last: where the next one's does
CREATE TABLE segment(no INTEGER PRIMARY KEY, path TEXT NOT NULL,
  first_seq INTEGER NOT NULL, last_seq INTEGER, first_us INTEGER NOT NULL,
  last_us INTEGER, state TEXT NOT NULL, sha256 BLOB, bytes INTEGER) STRICT;

-- The segments a run has rows in; held: prune leaves them alone.
CREATE TABLE run(uid TEXT PRIMARY KEY, started_us INTEGER NOT NULL,
  ended_us INTEGER, first_segment INTEGER NOT NULL,
  last_segment INTEGER NOT NULL, held INTEGER NOT NULL DEFAULT 0,
  why TEXT) STRICT, WITHOUT ROWID;

CREATE TABLE export_cursor(sink TEXT PRIMARY KEY, last_seq INTEGER NOT NULL,
  us INTEGER NOT NULL, err TEXT) STRICT, WITHOUT ROWID;

-- Rows that are rare and kept long after their segment is gone: approvals,
-- policies, tokens, and what was said of runs and of the audit itself.
CREATE TABLE rare(seq INTEGER PRIMARY KEY, at TEXT NOT NULL,
  kind TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT, sandbox TEXT,
  tenant TEXT, agent TEXT, on_behalf TEXT, jti TEXT, host TEXT, port INTEGER,
  verb TEXT, object TEXT, status INTEGER, cred TEXT, rule TEXT,
  detail TEXT, ts_us INTEGER NOT NULL) STRICT;
