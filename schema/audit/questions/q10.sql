-- everything done under a token and its descendants
WITH RECURSIVE d(id) AS (SELECT id FROM token WHERE jti=:jti UNION SELECT t.id
  FROM token t JOIN d ON t.parent_id=d.id)
SELECT k.name kind, v.name verdict, ds.host, e.verb, count(*) n,
  sum(e.bytes_out) out
FROM d
CROSS JOIN event e
JOIN kind k ON k.id=e.kind
JOIN verdict v ON v.id=e.verdict
LEFT JOIN dst ds ON ds.id=e.dst_id
WHERE e.token_id=d.id AND e.kind<>2
GROUP BY 1, 2, 3, 4
ORDER BY n DESC LIMIT min(:top, 200);
-- merge
SELECT kind, verdict, host, verb, sum(n) AS n, sum(out) AS out
FROM part GROUP BY 1, 2, 3, 4
ORDER BY n DESC LIMIT 200;
