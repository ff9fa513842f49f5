-- what was denied, why, by which rule
SELECT re.name reason, re.fault, ru.name rule, d.host, sum(ifnull(e.detail ->> '$.count', 1)) n,
  count(DISTINCT e.sandbox_id) sandboxes, min(e.ts_us) first, max(e.ts_us) last
FROM event e
LEFT JOIN reason re ON re.id=e.reason
LEFT JOIN rule ru ON ru.id=e.rule_id
LEFT JOIN dst d ON d.id=e.dst_id
WHERE e.verdict IN (2, 3) AND e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2, 3, 4
ORDER BY n DESC LIMIT min(:top, 200);
-- part
SELECT re.name reason, re.fault, ru.name rule, d.host, s.uid, sum(ifnull(e.detail ->> '$.count', 1)) n,
  min(e.ts_us) first, max(e.ts_us) last
FROM event e
LEFT JOIN reason re ON re.id=e.reason
LEFT JOIN rule ru ON ru.id=e.rule_id
LEFT JOIN dst d ON d.id=e.dst_id
LEFT JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.verdict IN (2, 3) AND e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2, 3, 4, 5;
-- merge
SELECT reason, fault, rule, host, sum(n) AS n,
  count(DISTINCT uid) AS sandboxes, min(first) AS first, max(last) AS last
FROM part GROUP BY 1, 2, 3, 4
ORDER BY n DESC LIMIT 200;
