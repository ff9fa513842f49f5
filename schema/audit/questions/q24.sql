-- requests without an end: outcome unknown
WITH unended AS (
  SELECT seq FROM event
  WHERE kind=4 AND kind NOT IN (1, 2, 5) AND seq NOT IN (
    SELECT parent_seq FROM event WHERE kind=1 AND parent_seq IS NOT NULL))
SELECT v.seq, v.at, v.sandbox, v.host, v.verb, v.object, v.cred
FROM unended u
CROSS JOIN v_event v
WHERE v.seq=u.seq AND v.ts_us<:t1-60000000
ORDER BY u.seq LIMIT min(:top, 500);
-- part
WITH unended AS (
  SELECT seq FROM event
  WHERE kind=4 AND kind NOT IN (1, 2, 5) AND seq NOT IN (
    SELECT parent_seq FROM event WHERE kind=1 AND parent_seq IS NOT NULL))
SELECT v.seq, v.at, v.sandbox, v.host, v.verb, v.object, v.cred, 0 AS ended
FROM unended u
CROSS JOIN v_event v
WHERE v.seq=u.seq AND v.ts_us<:t1-60000000
UNION ALL
SELECT parent_seq, NULL, NULL, NULL, NULL, NULL, NULL, 1
FROM event
WHERE kind=1 AND parent_seq < (SELECT min(seq) FROM event);
-- merge
SELECT seq, at, sandbox, host, verb, object, cred
FROM part
WHERE ended=0 AND seq NOT IN (SELECT seq FROM part WHERE ended=1)
ORDER BY seq LIMIT 500;
