-- About this record
SELECT c.seq AS "text:row", c.object AS "text:what", c.detail AS "code:detail"
FROM counted c WHERE c.kind = 18 ORDER BY c.seq LIMIT 50
-- merge
SELECT * FROM part ORDER BY rowid LIMIT 50
