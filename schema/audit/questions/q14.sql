-- names that may carry data: many, or long, under one domain
SELECT s.uid, d.reg_domain, count(*) q, count(DISTINCT d.host) names,
  max(length(d.host)) longest
FROM event e
JOIN dst d ON d.id=e.dst_id
JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.kind=5 AND e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2
HAVING count(DISTINCT d.host)>=100 OR max(length(d.host))>=100
ORDER BY names DESC;
-- part
SELECT s.uid, d.reg_domain, d.host, count(*) q
FROM event e
JOIN dst d ON d.id=e.dst_id
JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.kind=5 AND e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2, 3;
-- merge
SELECT uid, reg_domain, sum(q) AS q, count(DISTINCT host) AS names,
  max(length(host)) AS longest
FROM part GROUP BY 1, 2
HAVING names>=100 OR longest>=100
ORDER BY names DESC;
