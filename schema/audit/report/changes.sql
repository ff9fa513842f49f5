-- Policies and settings that changed
SELECT strftime('%H:%M:%S', c.ts_us / 1e6, 'unixepoch') AS "text:at (UTC)",
  k.name AS "text:what", c.object AS "code:which", p.sub AS "text:by",
  c.detail AS "code:detail"
FROM counted c JOIN kind k ON k.id = c.kind
LEFT JOIN principal p ON p.id = c.principal_id
WHERE c.kind IN (13, 14) ORDER BY c.seq LIMIT 200
-- merge
SELECT * FROM part ORDER BY rowid LIMIT 200
