-- Alarms
SELECT c.seq AS "text:row",
  strftime('%H:%M:%S', c.ts_us / 1e6, 'unixepoch') AS "text:at (UTC)",
  re.name AS "reason:what", d.host AS "code:host",
  trim(ifnull(c.verb, '') || ' ' || ifnull(c.object, '')) AS "code:where",
  cr.name AS "text:credential"
FROM counted c LEFT JOIN reason re ON re.id = c.reason
LEFT JOIN dst d ON d.id = c.dst_id LEFT JOIN cred cr ON cr.id = c.cred_id
WHERE c.kind = 17 ORDER BY c.seq LIMIT 200
-- merge
SELECT * FROM part ORDER BY rowid LIMIT 200
