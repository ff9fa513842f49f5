-- alarms: placeholders and secrets in the wrong place, ambiguous requests
SELECT e.seq, e.ts_us, re.name, s.uid, d.host, e.object, e.detail
FROM event e
JOIN reason re ON re.id=e.reason
LEFT JOIN sandbox s ON s.id=e.sandbox_id
LEFT JOIN dst d ON d.id=e.dst_id
WHERE e.verdict<>1 AND e.reason IN (16, 17, 33, 41) AND +e.ts_us BETWEEN :t0 AND
  :t1
ORDER BY e.seq;
