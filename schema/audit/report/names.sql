-- Names that were asked for
SELECT ifnull(d.host, c.object) AS "code:name",
  group_concat(DISTINCT c.verb) AS "text:types",
  group_concat(DISTINCT v.name) AS "text:answer", count(*) AS "count:times"
FROM counted c JOIN verdict v ON v.id = c.verdict
LEFT JOIN dst d ON d.id = c.dst_id WHERE c.kind = 5
GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 200
