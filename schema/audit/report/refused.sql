-- What was refused, and why
SELECT re.name AS "reason:why", d.host || ifnull(':' || c.dst_port, '') AS "code:to",
  min(trim(ifnull(c.verb, '') || ' ' || ifnull(c.object, '')))
    AS "code:for example",
  ru.name AS "text:rule", count(*) AS "count:times",
  100.0 * count(*) / max(count(*)) OVER () AS "bar:", min(c.seq) AS "text:row"
FROM counted c LEFT JOIN dst d ON d.id = c.dst_id
LEFT JOIN reason re ON re.id = c.reason LEFT JOIN rule ru ON ru.id = c.rule_id
WHERE c.refused GROUP BY c.dst_id, c.dst_port, c.reason, c.rule_id
ORDER BY count(*) DESC, min(c.seq) LIMIT 100
