-- Proof: every commit is a block, every block is linked to the one before it,
-- and signed checkpoints say what the tree over all blocks was.  A file of
-- the first version has no blocks; they begin with the next commit.
DROP TABLE block;

-- root: of the tree over the rows first_seq to last_seq, then the entries
-- that came with them, table by table, then this row's own last columns.
-- last_sandbox ... last_rule: the highest id that is covered so far.
-- last_checkpoint: the newest one before this block, 0 for none.
-- names: over kind, verdict and reason, in the first block that has them so.
CREATE TABLE block(no INTEGER PRIMARY KEY, first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL, first_us INTEGER NOT NULL,
  last_us INTEGER NOT NULL, root BLOB NOT NULL, prev BLOB NOT NULL,
  hash BLOB NOT NULL, last_sandbox INTEGER NOT NULL,
  last_principal INTEGER NOT NULL, last_dst INTEGER NOT NULL,
  last_cred INTEGER NOT NULL, last_token INTEGER NOT NULL,
  last_policy INTEGER NOT NULL, last_rule INTEGER NOT NULL,
  last_checkpoint INTEGER NOT NULL, names BLOB) STRICT;
CREATE INDEX block_names ON block(no) WHERE names IS NOT NULL;

-- size: the number of blocks; us: of the last row in them; note: C2SP
-- tlog-checkpoint
CREATE TABLE checkpoint(size INTEGER PRIMARY KEY, us INTEGER NOT NULL,
  root BLOB NOT NULL, note TEXT NOT NULL) STRICT;

UPDATE meta SET v = 2 WHERE k = 'schema';
