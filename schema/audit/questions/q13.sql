-- probing: many destinations denied, then one allowed
SELECT s.uid, count(DISTINCT CASE WHEN e.verdict=2 THEN e.dst_id END)
  denied_hosts, count(DISTINCT CASE WHEN e.verdict=1 THEN e.dst_id END)
  ok_hosts, min(CASE WHEN e.verdict=2 THEN e.ts_us END) first_denied, max(CASE
  WHEN e.verdict=1 THEN e.ts_us END) last_ok
FROM event e
JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1
HAVING denied_hosts>=5
ORDER BY denied_hosts DESC LIMIT 100;
