-- probing: many destinations denied, then one allowed
SELECT s.uid, count(DISTINCT CASE WHEN e.verdict=2 THEN e.dst_id END)
  denied_hosts, count(DISTINCT CASE WHEN e.verdict=1 THEN e.dst_id END)
  ok_hosts, min(CASE WHEN e.verdict=2 THEN e.ts_us END) first_denied, max(CASE
  WHEN e.verdict=1 THEN e.ts_us END) last_ok
FROM event e
JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1
HAVING count(DISTINCT CASE WHEN e.verdict=2 THEN e.dst_id END)>=5
ORDER BY denied_hosts DESC LIMIT min(:top, 100);
-- part
SELECT s.uid, d.host, e.verdict, min(e.ts_us) first, max(e.ts_us) last
FROM event e
JOIN sandbox s ON s.id=e.sandbox_id
JOIN dst d ON d.id=e.dst_id
WHERE e.ts_us BETWEEN :t0 AND :t1 AND e.verdict IN (1, 2)
GROUP BY 1, 2, 3;
-- merge
SELECT uid, count(DISTINCT CASE WHEN verdict=2 THEN host END) AS denied_hosts,
  count(DISTINCT CASE WHEN verdict=1 THEN host END) AS ok_hosts,
  min(CASE WHEN verdict=2 THEN first END) AS first_denied,
  max(CASE WHEN verdict=1 THEN last END) AS last_ok
FROM part GROUP BY 1
HAVING denied_hosts>=5
ORDER BY denied_hosts DESC LIMIT 100;
