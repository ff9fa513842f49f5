-- names that may carry data: many, or long, under one domain
WITH asked AS (
  -- Names that were refused are counted in one row, once they are many.
  SELECT e.sandbox_id, d.reg_domain, d.host,
    ifnull(e.detail ->> '$.count', 1) AS n
  FROM event e JOIN dst d ON d.id=e.dst_id
  WHERE e.kind=5 AND +e.ts_us BETWEEN :t0 AND :t1),
counted AS (
  SELECT s.uid, a.reg_domain, sum(a.n) AS q,
    count(DISTINCT a.host) + sum(a.n) - count(*) AS names,
    max(length(a.host)) AS longest
  FROM asked a
  JOIN sandbox s ON s.id=a.sandbox_id
  GROUP BY 1, 2)
SELECT uid, reg_domain, q, names, longest FROM counted
WHERE names>=100 OR longest>=100
ORDER BY names DESC;
-- part
SELECT s.uid, d.reg_domain, d.host, count(*) rows,
  sum(ifnull(e.detail ->> '$.count', 1)) q
FROM event e
JOIN dst d ON d.id=e.dst_id
JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.kind=5 AND +e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2, 3;
-- merge
SELECT uid, reg_domain, sum(q) AS q,
  count(DISTINCT host) + sum(q) - sum(rows) AS names,
  max(length(host)) AS longest
FROM part GROUP BY 1, 2
HAVING names>=100 OR longest>=100
ORDER BY names DESC;
