-- what was denied, why, by which rule
WITH groups AS (
  SELECT reason, rule_id, dst_id, sandbox_id, count(*) AS n,
    min(ts_us) AS first, max(ts_us) AS last
  FROM event
  WHERE verdict IN (2, 3) AND +ts_us BETWEEN :t0 AND :t1
  GROUP BY verdict, reason, rule_id, dst_id, sandbox_id
  UNION ALL
  -- What was counted in one row, once it was many.
  SELECT reason, rule_id, dst_id, sandbox_id,
    ifnull(detail ->> '$.count', 1) - 1, ts_us, ts_us
  FROM event
  WHERE verdict IN (2, 3) AND instr(detail, '"count":') > 0
    AND json_valid(detail) AND +ts_us BETWEEN :t0 AND :t1)
SELECT re.name reason, re.fault, ru.name rule, d.host, sum(g.n) n,
  count(DISTINCT g.sandbox_id) sandboxes, min(g.first) first_us,
  max(g.last) last_us
FROM groups g
LEFT JOIN reason re ON re.id=g.reason
LEFT JOIN rule ru ON ru.id=g.rule_id
LEFT JOIN dst d ON d.id=g.dst_id
GROUP BY 1, 2, 3, 4
ORDER BY n DESC LIMIT min(:top, 200);
-- part
WITH groups AS (
  SELECT reason, rule_id, dst_id, sandbox_id, count(*) AS n,
    min(ts_us) AS first, max(ts_us) AS last
  FROM event
  WHERE verdict IN (2, 3) AND +ts_us BETWEEN :t0 AND :t1
  GROUP BY verdict, reason, rule_id, dst_id, sandbox_id
  UNION ALL
  -- What was counted in one row, once it was many.
  SELECT reason, rule_id, dst_id, sandbox_id,
    ifnull(detail ->> '$.count', 1) - 1, ts_us, ts_us
  FROM event
  WHERE verdict IN (2, 3) AND instr(detail, '"count":') > 0
    AND json_valid(detail) AND +ts_us BETWEEN :t0 AND :t1)
SELECT re.name reason, re.fault, ru.name rule, d.host, s.uid, sum(g.n) n,
  min(g.first) first_us, max(g.last) last_us
FROM groups g
LEFT JOIN reason re ON re.id=g.reason
LEFT JOIN rule ru ON ru.id=g.rule_id
LEFT JOIN dst d ON d.id=g.dst_id
LEFT JOIN sandbox s ON s.id=g.sandbox_id
GROUP BY 1, 2, 3, 4, 5;
-- merge
SELECT reason, fault, rule, host, sum(n) AS n,
  count(DISTINCT uid) AS sandboxes, min(first_us) AS first_us,
  max(last_us) AS last_us
FROM part GROUP BY 1, 2, 3, 4
ORDER BY n DESC LIMIT 200;
