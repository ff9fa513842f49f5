-- credentials that the other side refused
SELECT c.name, d.host, e.status, count(*) n, max(e.ts_us) last_us
FROM event e
JOIN cred c ON c.id=e.cred_id
JOIN dst d ON d.id=e.dst_id
WHERE e.cred_id IS NOT NULL AND e.status IN (401, 403) AND e.verdict=1 AND +e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2, 3
ORDER BY n DESC;
-- merge
SELECT name, host, status, sum(n) AS n, max(last_us) AS last_us
FROM part GROUP BY 1, 2, 3
ORDER BY n DESC;
