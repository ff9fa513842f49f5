-- approvals: what was asked, who decided, how fast, what followed
SELECT a.seq, s.uid, a.object AS asked_for, d.detail ->> '$.by' AS who,
  v.name AS decision, (d.ts_us - a.ts_us) / 1e6 AS seconds,
  (SELECT count(*) FROM event x WHERE x.parent_seq = d.seq) AS uses
FROM event a
LEFT JOIN event d ON d.parent_seq = a.seq AND d.kind = 12
LEFT JOIN verdict v ON v.id = d.verdict
LEFT JOIN sandbox s ON s.id = a.sandbox_id
WHERE a.kind = 10 AND a.kind NOT IN (1, 2, 5) AND a.ts_us BETWEEN :t0 AND :t1
ORDER BY a.seq;
