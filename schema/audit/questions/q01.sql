-- who talked where, most bytes first
WITH pairs AS (
  SELECT sandbox_id, dst_id, count(*) n, sum(bytes_out) out, sum(bytes_in) inn
  FROM event
  WHERE kind IN (1, 2) AND verdict=1 AND +ts_us BETWEEN :t0 AND :t1
  GROUP BY 1, 2)
SELECT s.uid, s.tenant, d.host, p.n, p.out, p.inn
FROM pairs p
JOIN sandbox s ON s.id=p.sandbox_id
JOIN dst d ON d.id=p.dst_id
ORDER BY out DESC LIMIT min(:top, 200);
-- merge
SELECT uid, tenant, host, sum(n) AS n, sum(out) AS out, sum(inn) AS inn
FROM part GROUP BY 1, 2, 3
ORDER BY out DESC LIMIT 200;
