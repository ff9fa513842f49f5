-- destinations that are new to a tenant, a program or a credential
-- of the rollup
SELECT scope, host, first_us, sandbox
FROM first_seen
WHERE scope <> '' AND first_us BETWEEN :t0 AND :t1
ORDER BY first_us DESC LIMIT 500;
