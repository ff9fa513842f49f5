-- requests without an end: outcome unknown
SELECT seq, at, sandbox, host, verb, object, cred
FROM v_open_intent
WHERE ts_us<:t1-60000000
ORDER BY seq LIMIT 500;
