-- where a credential was used, and by whom
SELECT d.host, s.tenant, s.uid, p.sub agent, t.sub_on_behalf, count(*) n,
  min(e.ts_us) first_us, max(e.ts_us) last_us, sum(e.bytes_out) out
FROM cred c
JOIN event e ON e.cred_id=c.id
JOIN dst d ON d.id=e.dst_id
LEFT JOIN sandbox s ON s.id=e.sandbox_id
LEFT JOIN principal p ON p.id=e.principal_id
LEFT JOIN token t ON t.id=e.token_id
WHERE c.name=:cred
GROUP BY 1, 2, 3, 4, 5
ORDER BY n DESC;
-- merge
SELECT host, tenant, uid, agent, sub_on_behalf, sum(n) AS n,
  min(first_us) AS first_us, max(last_us) AS last_us, sum(out) AS out
FROM part GROUP BY 1, 2, 3, 4, 5
ORDER BY n DESC;
