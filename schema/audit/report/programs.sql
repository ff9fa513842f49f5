-- Programs
SELECT 20 AS kind, r.seq, r.parent_seq, r.object,
  CASE WHEN json_valid(r.detail) THEN (SELECT group_concat(value, ' ')
    FROM json_each(r.detail, '$.argv')) END AS argv,
  CASE WHEN json_valid(r.detail) THEN r.detail ->> '$.pid' END AS pid,
  NULL AS n
FROM row r WHERE r.kind = 20
UNION ALL
SELECT 1, NULL, parent_seq, NULL, NULL, NULL, count(*) FROM row
WHERE kind IN (1, 2, 3, 4, 5) AND parent_seq IS NOT NULL GROUP BY parent_seq
-- merge
WITH program AS MATERIALIZED (SELECT * FROM part WHERE kind = 20),
made AS MATERIALIZED (SELECT parent_seq AS seq, sum(n) AS n FROM part
  WHERE kind = 1 AND parent_seq IN (SELECT seq FROM program) GROUP BY 1),
tree(seq, level, path) AS (
  SELECT seq, 0, printf('%012d', seq) FROM program
  WHERE parent_seq IS NULL OR parent_seq NOT IN (SELECT seq FROM program)
  UNION ALL
  SELECT p.seq, level + 1, path || '/' || printf('%012d', p.seq)
  FROM tree JOIN program p ON p.parent_seq = tree.seq WHERE level < 40)
SELECT tree.level AS "indent:", p.object AS "code:program",
  p.argv AS "code:arguments", p.pid AS "text:pid",
  ifnull(made.n, 0) AS "count:connections"
FROM tree JOIN program p ON p.seq = tree.seq
LEFT JOIN made ON made.seq = p.seq ORDER BY tree.path LIMIT 1000
