-- Programs
, tree(seq, level, path) AS (
  SELECT seq, 0, printf('%012d', seq) FROM row
  WHERE kind = 20 AND (parent_seq IS NULL OR parent_seq NOT IN
    (SELECT seq FROM row WHERE kind = 20))
  UNION ALL
  SELECT r.seq, level + 1, path || '/' || printf('%012d', r.seq)
  FROM tree JOIN row r ON r.parent_seq = tree.seq AND r.kind = 20
  WHERE level < 40)
SELECT tree.level AS "indent:", r.object AS "code:program",
  CASE WHEN json_valid(r.detail) THEN (SELECT group_concat(value, ' ')
    FROM json_each(r.detail, '$.argv')) END AS "code:arguments",
  CASE WHEN json_valid(r.detail) THEN r.detail ->> '$.pid' END AS "text:pid",
  (SELECT count(*) FROM row n WHERE n.parent_seq = r.seq
    AND n.kind IN (1, 2, 3, 4, 5)) AS "count:connections"
FROM tree JOIN row r ON r.seq = tree.seq ORDER BY tree.path LIMIT 1000
