-- What left, and to whom
SELECT d.host || ifnull(':' || c.dst_port, '') AS "code:to",
  CASE WHEN d.first_us >= (SELECT min(ts_us) FROM row) THEN 'new' END
    AS "mark:",
  sum(c.request) AS "count:requests", ifnull(sum(c.bytes_out), 0) AS "bytes:sent",
  100.0 * ifnull(sum(c.bytes_out), 0)
    / max(max(sum(c.bytes_out)) OVER (), 1) AS "bar:",
  ifnull(sum(c.bytes_in), 0)
    AS "bytes:received",
  group_concat(DISTINCT cr.name) AS "text:credential",
  group_concat(DISTINCT ru.name) AS "text:rule"
FROM counted c JOIN dst d ON d.id = c.dst_id
LEFT JOIN rule ru ON ru.id = c.rule_id LEFT JOIN cred cr ON cr.id = c.cred_id
WHERE c.kind IN (1, 2, 3, 4) AND c.verdict IN (1, 3, 0)
GROUP BY c.dst_id, c.dst_port ORDER BY sum(c.bytes_out) DESC LIMIT 100
