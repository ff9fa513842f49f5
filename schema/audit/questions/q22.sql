-- literal addresses, undecrypted flows, rows after a run had ended
SELECT s.uid, d.host, e.dst_port, e.kind, e.verdict, count(*) n
FROM event e
JOIN dst d ON d.id=e.dst_id
LEFT JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.ts_us BETWEEN :t0 AND :t1 AND (d.is_ip=1 OR e.tls<0 OR (s.ended_us IS
  NOT NULL AND e.ts_us>s.ended_us))
GROUP BY 1, 2, 3, 4, 5
ORDER BY n DESC LIMIT min(:top, 200);
-- merge
SELECT uid, host, dst_port, kind, verdict, sum(n) AS n
FROM part GROUP BY 1, 2, 3, 4, 5
ORDER BY n DESC LIMIT 200;
