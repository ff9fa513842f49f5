-- one row: what it is about, and the counts
SELECT min(ts_us) AS first_us, max(ts_us) AS last_us,
  ifnull(sum(request), 0) AS requests, ifnull(sum(refused), 0) AS refused,
  ifnull(sum(verdict = 3 AND request), 0) AS would_deny,
  ifnull(sum(verdict = 4), 0) AS failed, ifnull(sum(kind = 17), 0) AS alerts,
  ifnull(sum(bytes_out), 0) AS bytes_out, ifnull(sum(bytes_in), 0) AS bytes_in,
  ifnull(sum(kind = 20), 0) AS programs, ifnull(sum(kind = 10), 0) AS asked,
  (SELECT json_group_array(host) FROM dst WHERE id IN (SELECT dst_id
    FROM counted WHERE verdict IN (1, 3) AND kind IN (1, 2, 3, 4))) AS hosts,
  (SELECT json_group_array(name) FROM cred WHERE id IN
    (SELECT cred_id FROM row)) AS credentials,
  (SELECT json_group_array(uid) FROM sandbox WHERE id IN
    (SELECT sandbox_id FROM row)) AS runs,
  (SELECT json_group_array(uid) FROM sandbox WHERE ended_us IS NOT NULL)
    AS ended
FROM counted
-- merge
SELECT (SELECT count(DISTINCT value) FROM part, json_each(runs)) AS runs,
  min(first_us) AS first_us, max(last_us) AS last_us,
  sum(requests) AS requests, sum(refused) AS refused,
  sum(would_deny) AS would_deny, sum(failed) AS failed, sum(alerts) AS alerts,
  sum(bytes_out) AS bytes_out, sum(bytes_in) AS bytes_in,
  (SELECT count(DISTINCT value) FROM part, json_each(hosts)) AS hosts,
  sum(programs) AS programs, sum(asked) AS asked,
  (SELECT count(DISTINCT value) FROM part, json_each(credentials))
    AS credentials,
  (SELECT count(DISTINCT value) FROM part, json_each(runs) WHERE value NOT IN
    (SELECT value FROM part, json_each(ended))) AS open_runs
FROM part
