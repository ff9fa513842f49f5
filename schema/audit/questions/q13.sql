-- probing: many destinations denied, then one allowed
WITH pairs AS (
  SELECT dst_id, verdict, sandbox_id, min(ts_us) first, max(ts_us) last
  FROM event
  WHERE dst_id IS NOT NULL AND verdict IN (1, 2)
    AND +ts_us BETWEEN :t0 AND :t1
  GROUP BY 1, 2, 3)
SELECT s.uid, sum(p.verdict=2) denied_hosts, sum(p.verdict=1) ok_hosts,
  min(CASE WHEN p.verdict=2 THEN p.first END) first_denied_us,
  max(CASE WHEN p.verdict=1 THEN p.last END) last_ok_us
FROM pairs p
JOIN sandbox s ON s.id=p.sandbox_id
GROUP BY 1
HAVING sum(p.verdict=2)>=5
ORDER BY denied_hosts DESC LIMIT min(:top, 100);
-- part
WITH pairs AS (
  SELECT dst_id, verdict, sandbox_id, min(ts_us) first, max(ts_us) last
  FROM event
  WHERE dst_id IS NOT NULL AND verdict IN (1, 2)
    AND +ts_us BETWEEN :t0 AND :t1
  GROUP BY 1, 2, 3)
SELECT s.uid, d.host, p.verdict, p.first, p.last
FROM pairs p
JOIN sandbox s ON s.id=p.sandbox_id
JOIN dst d ON d.id=p.dst_id;
-- merge
SELECT uid, count(DISTINCT CASE WHEN verdict=2 THEN host END) AS denied_hosts,
  count(DISTINCT CASE WHEN verdict=1 THEN host END) AS ok_hosts,
  min(CASE WHEN verdict=2 THEN first END) AS first_denied_us,
  max(CASE WHEN verdict=1 THEN last END) AS last_ok_us
FROM part GROUP BY 1
HAVING denied_hosts>=5
ORDER BY denied_hosts DESC LIMIT 100;
