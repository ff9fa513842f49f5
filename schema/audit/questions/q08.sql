-- beacons: regular gaps and similar sizes
WITH gaps AS (
  SELECT sandbox_id, dst_id, (ts_us - lag(ts_us) OVER w) / 1e6 AS gap,
    bytes_out
  FROM event
  WHERE kind IN (1, 2) AND verdict = 1 AND ts_us BETWEEN :t0 AND :t1
  WINDOW w AS (PARTITION BY sandbox_id, dst_id ORDER BY seq)),
pairs AS (
  SELECT sandbox_id, dst_id, count(gap) AS n, avg(gap) AS mean,
    sqrt(max(0, avg(gap * gap) - avg(gap) * avg(gap))) AS deviation,
    avg(bytes_out) AS size,
    sqrt(max(0, avg(1.0 * bytes_out * bytes_out) -
      avg(bytes_out) * avg(bytes_out))) AS size_deviation
  FROM gaps GROUP BY 1, 2 HAVING count(gap) >= 20)
SELECT s.uid, d.host, n, round(mean, 1) AS period_s,
  round(deviation / mean, 3) AS jitter,
  round(size_deviation / max(size, 1), 3) AS size_jitter
FROM pairs
JOIN sandbox s ON s.id = sandbox_id
JOIN dst d ON d.id = dst_id
WHERE mean BETWEEN 1 AND 7200 AND deviation / mean < 0.25
ORDER BY deviation / mean LIMIT min(:top, 100);
-- merge
SELECT * FROM part ORDER BY jitter LIMIT 100;
