-- What people were asked
SELECT r.kind, r.seq, r.parent_seq, r.ts_us, r.verdict,
  trim(ifnull(r.verb, '') || ' ' || ifnull(d.host, '') || ' ' ||
    ifnull(r.object, '')) AS what,
  CASE WHEN json_valid(r.detail) THEN r.detail ->> '$.by' END AS who
FROM row r LEFT JOIN dst d ON d.id = r.dst_id WHERE r.kind IN (10, 12)
-- merge
SELECT strftime('%H:%M:%S', a.ts_us / 1e6, 'unixepoch') AS "text:at (UTC)",
  a.what AS "code:asked for",
  ifnull(CASE d.verdict WHEN 1 THEN 'yes' ELSE 'no' END, 'no answer')
    AS "text:answer",
  d.who AS "text:by", round((d.ts_us - a.ts_us) / 1e6, 1) AS "text:after (s)"
FROM part a LEFT JOIN part d ON d.parent_seq = a.seq AND d.kind = 12
WHERE a.kind = 10 ORDER BY a.seq LIMIT 200
