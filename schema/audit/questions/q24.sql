-- requests without an end: outcome unknown
SELECT seq, at, sandbox, host, verb, object, cred
FROM v_open_intent
WHERE ts_us<:t1-60000000
ORDER BY seq LIMIT min(:top, 500);
-- part
SELECT seq, at, sandbox, host, verb, object, cred, 0 AS ended
FROM v_open_intent
WHERE ts_us<:t1-60000000
UNION ALL
SELECT parent_seq, NULL, NULL, NULL, NULL, NULL, NULL, 1
FROM event
WHERE kind=1 AND parent_seq < (SELECT min(seq) FROM event);
-- merge
SELECT seq, at, sandbox, host, verb, object, cred
FROM part
WHERE ended=0 AND seq NOT IN (SELECT seq FROM part WHERE ended=1)
ORDER BY seq LIMIT 500;
