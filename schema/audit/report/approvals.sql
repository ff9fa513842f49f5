-- What people were asked
SELECT strftime('%H:%M:%S', a.ts_us / 1e6, 'unixepoch') AS "text:at (UTC)",
  trim(ifnull(a.verb, '') || ' ' || ifnull(dh.host, '') || ' ' ||
    ifnull(a.object, '')) AS "code:asked for",
  ifnull(CASE d.verdict WHEN 1 THEN 'yes' ELSE 'no' END, 'no answer')
    AS "text:answer",
  CASE WHEN json_valid(d.detail) THEN d.detail ->> '$.by' END AS "text:by",
  round((d.ts_us - a.ts_us) / 1e6, 1) AS "text:after (s)"
FROM row a LEFT JOIN row d ON d.parent_seq = a.seq AND d.kind = 12
LEFT JOIN dst dh ON dh.id = a.dst_id
WHERE a.kind = 10 ORDER BY a.seq LIMIT 200
