-- runs that sent far more than others of the same program
WITH pairs AS (
  SELECT sandbox_id, dst_id, sum(bytes_out) b
  FROM event
  WHERE kind IN (1, 2) AND +ts_us BETWEEN :t0 AND :t1
  GROUP BY 1, 2),
u AS (SELECT s.image, s.uid, d.host, p.b FROM pairs p
  JOIN sandbox s ON s.id=p.sandbox_id JOIN dst d ON d.id=p.dst_id),
r AS (SELECT *, percent_rank() OVER (PARTITION BY image ORDER BY b) pr,
  avg(b) OVER (PARTITION BY image) av FROM u)
SELECT image, uid, host, b, round(1.0*b/av, 1) times_avg
FROM r
WHERE pr>=0.999 OR b>10*av
ORDER BY b DESC LIMIT 100;
-- part
WITH pairs AS (
  SELECT sandbox_id, dst_id, sum(bytes_out) b
  FROM event
  WHERE kind IN (1, 2) AND +ts_us BETWEEN :t0 AND :t1
  GROUP BY 1, 2)
SELECT s.image, s.uid, d.host, p.b
FROM pairs p
JOIN sandbox s ON s.id=p.sandbox_id
JOIN dst d ON d.id=p.dst_id;
-- merge
WITH u AS (SELECT image, uid, host, sum(b) AS b FROM part GROUP BY 1, 2, 3),
r AS (SELECT *, percent_rank() OVER (PARTITION BY image ORDER BY b) pr,
  avg(b) OVER (PARTITION BY image) av FROM u)
SELECT image, uid, host, b, round(1.0*b/av, 1) times_avg
FROM r
WHERE pr>=0.999 OR b>10*av
ORDER BY b DESC LIMIT 100;
