-- the programs of a run, and the network calls of each
WITH RECURSIVE flows AS MATERIALIZED (
  SELECT e.detail ->> '$.pid' AS pid, e.ts_us
  FROM event e JOIN sandbox s ON s.id = e.sandbox_id
  WHERE s.uid = :sbx AND e.kind IN (1, 2, 5) AND e.detail IS NOT NULL),
tree(seq, level, path) AS (
  SELECT e.seq, 0, printf('%012d', e.seq)
  FROM event e JOIN sandbox s ON s.id = e.sandbox_id
  WHERE s.uid = :sbx AND e.kind = 20 AND (e.parent_seq IS NULL
    OR e.parent_seq < (SELECT min(seq) FROM event))
  UNION ALL
  SELECT e.seq, level + 1, path || '/' || printf('%012d', e.seq)
  FROM tree JOIN event e ON e.parent_seq = tree.seq AND e.kind = 20
  WHERE level < 40)
SELECT e.seq, e.ts_us, printf('%*s', 2 * level, '') || e.object AS exe,
  e.detail ->> '$.argv' AS argv,
  (SELECT count(*) FROM flows f
   WHERE f.pid = e.detail ->> '$.pid' AND f.ts_us >= e.ts_us) AS net
FROM tree JOIN event e ON e.seq = tree.seq
ORDER BY path LIMIT min(:top, 2000);
