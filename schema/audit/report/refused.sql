-- What was refused, and why
SELECT re.name AS why, d.host || ifnull(':' || c.dst_port, '') AS whither,
  min(trim(ifnull(c.verb, '') || ' ' || ifnull(c.object, ''))) AS example,
  ru.name AS rule, sum(ifnull(c.detail ->> '$.count', 1)) AS n,
  min(c.seq) AS seq
FROM counted c LEFT JOIN dst d ON d.id = c.dst_id
LEFT JOIN reason re ON re.id = c.reason LEFT JOIN rule ru ON ru.id = c.rule_id
WHERE c.refused GROUP BY c.dst_id, c.dst_port, c.reason, c.rule_id
-- merge
SELECT why AS "reason:why", whither AS "code:to", min(example)
    AS "code:for example",
  rule AS "text:rule", sum(n) AS "count:times",
  100.0 * sum(n) / max(sum(n)) OVER () AS "bar:", min(seq) AS "text:row"
FROM part GROUP BY why, whither, rule
ORDER BY sum(n) DESC, min(seq) LIMIT 100
