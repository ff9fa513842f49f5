-- a token and those it came from
WITH RECURSIVE up(id, parent_id, jti, depth, scope, aud, act, sub_on_behalf,
  lvl) AS ( SELECT id, parent_id, jti, depth, scope, aud, act, sub_on_behalf,
  0 FROM token WHERE jti=:jti UNION ALL SELECT t.id, t.parent_id, t.jti,
  t.depth, t.scope, t.aud, t.act, t.sub_on_behalf, lvl+1 FROM token t JOIN up
  ON t.id=up.parent_id WHERE lvl<16)
SELECT lvl, jti, depth, sub_on_behalf, act, aud, scope
FROM up
ORDER BY lvl;
