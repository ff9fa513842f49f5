-- credentials used outside the domains they are bound to
SELECT e.seq, c.name, d.host, d.reg_domain
FROM event e
JOIN cred c ON c.id=e.cred_id
JOIN dst d ON d.id=e.dst_id
WHERE e.cred_id IS NOT NULL AND e.verdict=1 AND NOT EXISTS (SELECT 1 FROM
  json_each(c.bound_hosts) j WHERE j.value=d.reg_domain) LIMIT min(:top, 100);
-- merge
SELECT * FROM part ORDER BY seq LIMIT 100;
