-- bytes out per destination, over any time
-- of the rollup
SELECT host, sum(n) AS n, sum(bytes_out) AS out,
  count(DISTINCT sandbox) AS sandboxes
FROM rollup
WHERE hour BETWEEN :t0 / 3600000000 AND :t1 / 3600000000 AND verdict = 1
GROUP BY host
ORDER BY out DESC LIMIT 100;
