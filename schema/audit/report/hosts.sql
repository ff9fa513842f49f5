-- What left, and to whom
SELECT d.host || ifnull(':' || c.dst_port, '') AS whither, d.first_us,
  (SELECT min(ts_us) FROM row) AS began_us, sum(c.request) AS n,
  ifnull(sum(c.bytes_out), 0) AS bytes_out,
  ifnull(sum(c.bytes_in), 0) AS bytes_in, cr.name AS cred, ru.name AS rule
FROM counted c JOIN dst d ON d.id = c.dst_id
LEFT JOIN rule ru ON ru.id = c.rule_id LEFT JOIN cred cr ON cr.id = c.cred_id
WHERE c.kind IN (1, 2, 3, 4) AND c.verdict IN (1, 3, 0)
GROUP BY c.dst_id, c.dst_port, c.cred_id, c.rule_id
-- merge
SELECT whither AS "code:to",
  CASE WHEN min(first_us) >= (SELECT min(began_us) FROM part) THEN 'new' END
    AS "mark:",
  sum(n) AS "count:requests", sum(bytes_out) AS "bytes:sent",
  100.0 * sum(bytes_out) / max(max(sum(bytes_out)) OVER (), 1) AS "bar:",
  sum(bytes_in) AS "bytes:received",
  group_concat(DISTINCT cred) AS "text:credential",
  group_concat(DISTINCT rule) AS "text:rule"
FROM part GROUP BY whither ORDER BY sum(bytes_out) DESC, 1 LIMIT 100
