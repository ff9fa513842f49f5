-- destinations never seen before in this audit
SELECT d.host, d.first_us, s.uid, s.image, (SELECT count(*) FROM event e WHERE
  e.dst_id=d.id AND e.verdict=1) allowed
FROM dst d
LEFT JOIN sandbox s ON s.id=d.first_sandbox
WHERE d.first_us BETWEEN :t0 AND :t1
ORDER BY d.first_us;
-- part
SELECT d.host, d.first_us, s.uid, s.image, (SELECT count(*) FROM event e
  WHERE e.dst_id=d.id AND e.verdict=1) allowed
FROM dst d
LEFT JOIN sandbox s ON s.id=d.first_sandbox
WHERE d.first_us <= :t1;
-- merge
SELECT host, min(first_us) AS first_us, uid, image, sum(allowed) AS allowed
FROM part GROUP BY host
HAVING min(first_us) BETWEEN :t0 AND :t1
ORDER BY first_us;
