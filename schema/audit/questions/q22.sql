-- literal addresses, undecrypted flows, rows after a run had ended
WITH ends AS (
  SELECT sandbox_id, max(seq) AS seq FROM event
  WHERE kind=16 AND kind NOT IN (1, 2, 5) GROUP BY 1),
found AS (
  SELECT e.seq FROM dst d JOIN event e ON e.dst_id=d.id WHERE d.is_ip=1
  UNION SELECT seq FROM event WHERE tls<0
  UNION SELECT e.seq FROM ends l
    JOIN event e ON e.sandbox_id=l.sandbox_id AND e.seq>l.seq)
SELECT s.uid, d.host, e.dst_port, k.name kind, v.name verdict, count(*) n
FROM found f
CROSS JOIN event e
JOIN kind k ON k.id=e.kind
JOIN verdict v ON v.id=e.verdict
JOIN dst d ON d.id=e.dst_id
LEFT JOIN sandbox s ON s.id=e.sandbox_id
WHERE e.seq=f.seq AND e.ts_us BETWEEN :t0 AND :t1
GROUP BY 1, 2, 3, 4, 5
ORDER BY n DESC LIMIT min(:top, 200);
-- merge
SELECT uid, host, dst_port, kind, verdict, sum(n) AS n
FROM part GROUP BY 1, 2, 3, 4, 5
ORDER BY n DESC LIMIT 200;
