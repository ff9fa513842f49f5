-- runs that sent far more than others of the same program
WITH u AS (SELECT s.image, s.uid, d.host, sum(e.bytes_out) b FROM event e JOIN
  sandbox s ON s.id=e.sandbox_id JOIN dst d ON d.id=e.dst_id WHERE e.ts_us
  BETWEEN :t0 AND :t1 AND e.kind IN (1, 2) GROUP BY 1, 2, 3), r AS (SELECT *,
  percent_rank() OVER (PARTITION BY image ORDER BY b) pr, avg(b) OVER
  (PARTITION BY image) av FROM u)
SELECT image, uid, host, b, round(1.0*b/av, 1) times_avg
FROM r
WHERE pr>=0.999 OR b>10*av
ORDER BY b DESC LIMIT 100;
-- part
SELECT s.image, s.uid, d.host, sum(e.bytes_out) b
FROM event e
JOIN sandbox s ON s.id=e.sandbox_id
JOIN dst d ON d.id=e.dst_id
WHERE e.ts_us BETWEEN :t0 AND :t1 AND e.kind IN (1, 2)
GROUP BY 1, 2, 3;
-- merge
WITH u AS (SELECT image, uid, host, sum(b) AS b FROM part GROUP BY 1, 2, 3),
r AS (SELECT *, percent_rank() OVER (PARTITION BY image ORDER BY b) pr,
  avg(b) OVER (PARTITION BY image) av FROM u)
SELECT image, uid, host, b, round(1.0*b/av, 1) times_avg
FROM r
WHERE pr>=0.999 OR b>10*av
ORDER BY b DESC LIMIT 100;
