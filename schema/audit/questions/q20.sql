-- gaps in the numbers, and rows that no block covers yet
SELECT (SELECT max(seq)-min(seq)+1-count(*) FROM event) missing_rows, (SELECT
  count(*) FROM block b JOIN block n ON n.no=b.no+1 WHERE n.prev<>b.hash OR
  n.first_seq<>b.last_seq+1) broken_links, (SELECT max(seq) FROM
  event)-(SELECT max(last_seq) FROM block) uncovered_rows;
-- part
SELECT min(seq) first, max(seq) last, count(*) n,
  (SELECT count(*) FROM block b JOIN block n ON n.no=b.no+1
   WHERE n.prev<>b.hash OR n.first_seq<>b.last_seq+1) broken_links,
  max(seq) - (SELECT max(last_seq) FROM block) uncovered_rows
FROM event;
-- merge
SELECT max(last) - min(first) + 1 - sum(n) AS missing_rows,
  sum(broken_links) AS broken_links, sum(uncovered_rows) AS uncovered_rows
FROM part;
