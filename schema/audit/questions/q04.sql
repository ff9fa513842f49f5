-- credentials used where the broker has not lent them: must be empty
WITH lent AS (SELECT DISTINCT cred_id, dst_id, sandbox_id FROM event
  WHERE kind=9 AND kind NOT IN (1, 2, 5) AND verdict=1)
SELECT e.seq, c.name, d.host, d.reg_domain
FROM event e
JOIN cred c ON c.id=e.cred_id
JOIN dst d ON d.id=e.dst_id
LEFT JOIN lent l ON l.cred_id=e.cred_id AND l.dst_id=e.dst_id
  AND l.sandbox_id=e.sandbox_id
WHERE e.cred_id IS NOT NULL AND e.kind<>9 AND e.verdict=1 AND l.cred_id IS NULL
ORDER BY +e.seq LIMIT min(:top, 100);
-- part
WITH lent AS (SELECT DISTINCT cred_id, dst_id, sandbox_id FROM event
  WHERE kind=9 AND kind NOT IN (1, 2, 5) AND verdict=1)
SELECT e.seq, c.name, d.host, d.reg_domain, s.uid
FROM event e
JOIN cred c ON c.id=e.cred_id
JOIN dst d ON d.id=e.dst_id
LEFT JOIN sandbox s ON s.id=e.sandbox_id
LEFT JOIN lent l ON l.cred_id=e.cred_id AND l.dst_id=e.dst_id
  AND l.sandbox_id=e.sandbox_id
WHERE e.cred_id IS NOT NULL AND e.kind<>9 AND e.verdict=1 AND l.cred_id IS NULL
UNION ALL
SELECT NULL, c.name, d.host, d.reg_domain, s.uid
FROM lent l
JOIN cred c ON c.id=l.cred_id
JOIN dst d ON d.id=l.dst_id
JOIN sandbox s ON s.id=l.sandbox_id;
-- merge
SELECT u.seq, u.name, u.host, u.reg_domain
FROM part u
LEFT JOIN (SELECT DISTINCT name, host, uid FROM part WHERE seq IS NULL) l
  ON l.name=u.name AND l.host=u.host AND l.uid=u.uid
WHERE u.seq IS NOT NULL AND l.name IS NULL ORDER BY u.seq LIMIT 100;
