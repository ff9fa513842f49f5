-- Allowed, but failed
SELECT re.name AS why, d.host || ifnull(':' || c.dst_port, '') AS whither,
  count(*) AS n, min(c.seq) AS seq
FROM counted c LEFT JOIN dst d ON d.id = c.dst_id
LEFT JOIN reason re ON re.id = c.reason
WHERE c.verdict = 4 GROUP BY c.dst_id, c.dst_port, c.reason
-- merge
SELECT why AS "reason:why", whither AS "code:to", sum(n) AS "count:times",
  min(seq) AS "text:row"
FROM part GROUP BY why, whither ORDER BY sum(n) DESC, min(seq) LIMIT 50
