-- how far each export is behind, and how old the newest anchor is
-- of the rollup
SELECT sink, (SELECT max(last_seq) FROM segment) - last_seq AS rows_behind,
  (:t1 - us) / 1e6 AS age_s, err
FROM export_cursor
UNION ALL
SELECT 'anchor', NULL, (:t1 - max(anchored_us)) / 1e6, NULL FROM checkpoint;
