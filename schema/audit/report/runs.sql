-- Runs
SELECT s.uid AS "text:run",
  strftime('%Y-%m-%d %H:%M:%S', s.started_us / 1e6, 'unixepoch')
    AS "text:started (UTC)",
  CASE WHEN s.ended_us IS NULL THEN 'still running' ELSE
    round((s.ended_us - s.started_us) / 1e6, 1) || ' s' END AS "text:took",
  CASE WHEN json_valid(s.labels) THEN (SELECT group_concat(value, ' ')
    FROM json_each(s.labels, '$.command')) ELSE s.image END AS "code:command",
  s.owner AS "text:by",
  (SELECT group_concat(object, ' ') FROM row WHERE kind = 13
    AND sandbox_id = s.id) AS "code:policies",
  (SELECT object || ' ' || ifnull(status, '') FROM row WHERE kind = 16
    AND sandbox_id = s.id) AS "text:ended",
  sum(c.request) AS "count:requests", sum(c.refused) AS "count:refused"
FROM counted c JOIN sandbox s ON s.id = c.sandbox_id
GROUP BY s.id ORDER BY s.started_us DESC LIMIT 100
