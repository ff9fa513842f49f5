-- what was denied, why, by which rule
SELECT re.name reason, re.fault, ru.name rule, d.host, count(*) n,
  count(DISTINCT e.sandbox_id) sandboxes, min(e.ts_us) first, max(e.ts_us)
  last
FROM event e
LEFT JOIN reason re ON re.id=e.reason
LEFT JOIN rule ru ON ru.id=e.rule_id
LEFT JOIN dst d ON d.id=e.dst_id
WHERE e.verdict IN (2, 3) AND e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2, 3, 4
ORDER BY n DESC LIMIT 200;
