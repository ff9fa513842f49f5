-- Names that were asked for
SELECT ifnull(d.host, c.object) AS name, c.verb AS type, v.name AS answer,
  sum(ifnull(c.detail ->> '$.count', 1)) AS n
FROM counted c JOIN verdict v ON v.id = c.verdict
LEFT JOIN dst d ON d.id = c.dst_id WHERE c.kind = 5 GROUP BY 1, 2, 3
-- merge
SELECT name AS "code:name", group_concat(DISTINCT type) AS "text:types",
  group_concat(DISTINCT answer) AS "text:answer", sum(n) AS "count:times"
FROM part GROUP BY name ORDER BY sum(n) DESC, 1 LIMIT 200
