-- Allowed, but failed
SELECT re.name AS "reason:why", d.host || ifnull(':' || c.dst_port, '') AS "code:to",
  count(*) AS "count:times", min(c.seq) AS "text:row"
FROM counted c LEFT JOIN dst d ON d.id = c.dst_id
LEFT JOIN reason re ON re.id = c.reason
WHERE c.verdict = 4 GROUP BY c.dst_id, c.dst_port, c.reason
ORDER BY count(*) DESC LIMIT 50
