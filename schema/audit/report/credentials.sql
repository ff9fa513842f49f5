-- Credentials that were used
SELECT cr.name, cr.type, d.host,
  sum(c.kind IN (1, 4) AND c.parent_seq IS NULL) AS n,
  min(c.ts_us) AS first_us, max(c.ts_us) AS last_us
FROM counted c JOIN cred cr ON cr.id = c.cred_id
LEFT JOIN dst d ON d.id = c.dst_id GROUP BY c.cred_id, c.dst_id
-- merge
SELECT name AS "text:credential", type AS "text:kind", host AS "code:sent to",
  sum(n) AS "count:requests",
  strftime('%H:%M:%S', min(first_us) / 1e6, 'unixepoch') AS "text:first (UTC)",
  strftime('%H:%M:%S', max(last_us) / 1e6, 'unixepoch') AS "text:last (UTC)"
FROM part GROUP BY name, type, host ORDER BY 4 DESC, 1, 3 LIMIT 100
