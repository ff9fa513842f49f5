-- Credentials that were used
SELECT cr.name AS "text:credential", cr.type AS "text:kind",
  d.host AS "code:sent to", sum(c.kind IN (1, 4) AND c.parent_seq IS NULL)
    AS "count:requests", min(strftime('%H:%M:%S', c.ts_us / 1e6, 'unixepoch'))
    AS "text:first (UTC)",
  max(strftime('%H:%M:%S', c.ts_us / 1e6, 'unixepoch')) AS "text:last (UTC)"
FROM counted c JOIN cred cr ON cr.id = c.cred_id
LEFT JOIN dst d ON d.id = c.dst_id
GROUP BY c.cred_id, c.dst_id ORDER BY 4 DESC LIMIT 100
