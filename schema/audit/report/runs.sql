-- Runs
SELECT s.uid, s.started_us, s.ended_us,
  CASE WHEN json_valid(s.labels) THEN (SELECT group_concat(value, ' ')
    FROM json_each(s.labels, '$.command')) ELSE s.image END AS command,
  s.owner,
  (SELECT group_concat(object, ' ') FROM row WHERE kind = 13
    AND sandbox_id = s.id) AS policies,
  (SELECT object || ' ' || ifnull(status, '') FROM row WHERE kind = 16
    AND sandbox_id = s.id) AS ended,
  sum(c.request) AS requests, sum(c.refused) AS refused
FROM counted c JOIN sandbox s ON s.id = c.sandbox_id GROUP BY s.id
-- merge
SELECT uid AS "text:run",
  strftime('%Y-%m-%d %H:%M:%S', min(started_us) / 1e6, 'unixepoch')
    AS "text:started (UTC)",
  CASE WHEN max(ended_us) IS NULL THEN 'still running' ELSE
    round((max(ended_us) - min(started_us)) / 1e6, 1) || ' s' END
    AS "text:took",
  max(command) AS "code:command", max(owner) AS "text:by",
  group_concat(policies, ' ') AS "code:policies", max(ended) AS "text:ended",
  sum(requests) AS "count:requests", sum(refused) AS "count:refused"
FROM part GROUP BY uid ORDER BY min(started_us) DESC, uid LIMIT 100
