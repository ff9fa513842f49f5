-- who talked where, most bytes first
SELECT s.uid, s.tenant, d.host, count(*) n, sum(e.bytes_out) out,
  sum(e.bytes_in) inn
FROM event e
JOIN sandbox s ON s.id=e.sandbox_id
JOIN dst d ON d.id=e.dst_id
WHERE e.ts_us BETWEEN :t0 AND :t1 AND e.kind IN (1, 2) AND e.verdict=1
GROUP BY 1, 2, 3
ORDER BY out DESC LIMIT min(:top, 200);
-- merge
SELECT uid, tenant, host, sum(n) AS n, sum(out) AS out, sum(inn) AS inn
FROM part GROUP BY 1, 2, 3
ORDER BY out DESC LIMIT 200;
