-- one row: what it is about, and the counts
SELECT count(DISTINCT sandbox_id) AS runs, min(ts_us) AS first_us,
  max(ts_us) AS last_us, ifnull(sum(request), 0) AS requests,
  ifnull(sum(refused), 0) AS refused,
  ifnull(sum(verdict = 3 AND request), 0) AS would_deny,
  ifnull(sum(verdict = 4), 0) AS failed, ifnull(sum(kind = 17), 0) AS alerts,
  ifnull(sum(bytes_out), 0) AS bytes_out, ifnull(sum(bytes_in), 0) AS bytes_in,
  count(DISTINCT CASE WHEN verdict IN (1, 3) AND kind IN (1, 2, 3, 4)
    THEN dst_id END) AS hosts,
  ifnull(sum(kind = 20), 0) AS programs,
  ifnull(sum(kind = 10), 0) AS asked,
  count(DISTINCT cred_id) AS credentials,
  (SELECT count(*) FROM sandbox s WHERE s.ended_us IS NULL AND s.id IN
    (SELECT DISTINCT sandbox_id FROM row)) AS open_runs
FROM counted
