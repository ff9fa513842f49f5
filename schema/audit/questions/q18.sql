-- policies, with the share of denials an hour before and after
SELECT p.loaded_us, p.loaded_by, hex(p.sha256) AS sha256,
  (SELECT round(100.0 * sum(verdict = 2) / count(*), 2) FROM event
   WHERE ts_us BETWEEN p.loaded_us - 3600000000 AND p.loaded_us)
   AS percent_before,
  (SELECT round(100.0 * sum(verdict = 2) / count(*), 2) FROM event
   WHERE ts_us BETWEEN p.loaded_us AND p.loaded_us + 3600000000)
   AS percent_after
FROM policy p
ORDER BY 1;
