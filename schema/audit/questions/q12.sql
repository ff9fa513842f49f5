-- everything one run did, in order
SELECT seq, at, kind, verdict, reason, host, verb, object, status, cred,
  bytes_out, bytes_in, rule, jti, detail
FROM v_event
WHERE sandbox=:sbx AND +ts_us BETWEEN :t0 AND :t1
ORDER BY seq;
