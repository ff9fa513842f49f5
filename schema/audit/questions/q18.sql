-- policies, with the share of denials an hour before and after
SELECT p.loaded_us, p.loaded_by, hex(p.sha256) AS sha256,
  round(100.0 * (SELECT count(*) FROM event WHERE verdict = 2 AND verdict <> 1
    AND verdict IN (2, 3) AND +ts_us BETWEEN p.loaded_us - 3600000000 AND p.loaded_us) /
    (SELECT count(*) FROM event WHERE ts_us BETWEEN p.loaded_us - 3600000000
     AND p.loaded_us), 2) AS percent_before,
  round(100.0 * (SELECT count(*) FROM event WHERE verdict = 2 AND verdict <> 1
    AND verdict IN (2, 3) AND +ts_us BETWEEN p.loaded_us AND p.loaded_us + 3600000000) /
    (SELECT count(*) FROM event WHERE ts_us BETWEEN p.loaded_us
     AND p.loaded_us + 3600000000), 2) AS percent_after
FROM policy p
ORDER BY 1;
-- merge
SELECT min(loaded_us) AS loaded_us, loaded_by, sha256, percent_before,
  percent_after
FROM part GROUP BY sha256
ORDER BY 1;
