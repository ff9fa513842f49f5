-- the rows a report is about: one run, or all since a time
WITH scope AS (
  SELECT s.id,
    ifnull((SELECT seq FROM event WHERE kind = 15 AND kind NOT IN (1, 2, 5)
      AND sandbox_id = s.id), 0) AS low,
    ifnull((SELECT seq FROM event WHERE kind = 16 AND kind NOT IN (1, 2, 5)
      AND sandbox_id = s.id), 9223372036854775807) AS high
  FROM sandbox s WHERE s.uid = :sbx
  UNION ALL
  SELECT NULL, ifnull((SELECT min(seq) FROM event WHERE ts_us >= :since),
    9223372036854775807), 9223372036854775807 WHERE :sbx = ''),
row AS (
  SELECT e.*, e.verdict = 2 AND e.kind <> 12
    AND NOT (e.kind = 2 AND e.parent_seq IS NOT NULL) AS refused
  FROM scope CROSS JOIN event e
  WHERE e.seq BETWEEN scope.low AND scope.high
    AND (scope.id IS NULL OR e.sandbox_id = scope.id)),
counted AS (
  SELECT row.*, parent_seq IS NULL AND (refused OR kind IN (1, 4)
    OR (kind IN (2, 3) AND (ifnull(tls, 0) < -1 OR ifnull(l7, -1) IN (0, 10))))
    AS request FROM row)
