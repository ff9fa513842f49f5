-- Requests over time
SELECT (ts_us - :t0) * 60 / max(:t1 - :t0 + 1, 1) AS bucket,
  sum(request AND NOT refused) AS allowed, sum(refused) AS refused
FROM counted WHERE (request OR refused) AND ts_us BETWEEN :t0 AND :t1
GROUP BY 1
-- merge
SELECT bucket, sum(allowed) AS allowed, sum(refused) AS refused FROM part
GROUP BY bucket ORDER BY bucket
