-- What a segment gets when nothing is written into it any more.

CREATE INDEX IF NOT EXISTS ev_sandbox ON event(sandbox_id);
CREATE INDEX IF NOT EXISTS ev_dst ON event(dst_id);
CREATE INDEX IF NOT EXISTS ev_cred ON event(cred_id) WHERE cred_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS ev_token ON event(token_id)
  WHERE token_id IS NOT NULL AND kind <> 2;
CREATE INDEX IF NOT EXISTS ev_parent ON event(parent_seq)
  WHERE parent_seq IS NOT NULL;
ANALYZE;
