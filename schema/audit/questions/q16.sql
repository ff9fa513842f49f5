-- use of a token after it was revoked
SELECT e.seq, t.jti, t.revoke_why, (e.ts_us-t.revoked_us)/1000.0 ms_late
FROM token t
JOIN event e ON e.token_id=t.id AND e.kind<>2
WHERE t.revoked_us IS NOT NULL AND e.ts_us>t.revoked_us+100000 AND e.verdict=1
  AND e.kind IN (1, 3, 4, 9, 19)
ORDER BY ms_late DESC LIMIT min(:top, 100);
-- merge
SELECT * FROM part ORDER BY ms_late DESC LIMIT 100;
