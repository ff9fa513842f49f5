-- gaps in the numbers, and rows that no block covers yet
SELECT (SELECT max(seq)-min(seq)+1-count(*) FROM event) missing_rows, (SELECT
  count(*) FROM block b JOIN block n ON n.no=b.no+1 WHERE n.prev<>b.hash OR
  n.first_seq<>b.last_seq+1) broken_links, (SELECT max(seq) FROM
  event)-(SELECT max(last_seq) FROM block) uncovered_rows;
