-- listActs: all acts
-- postgres
select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  order by seq desc limit $1;
-- sqlite
select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  order by seq desc limit ?;

-- listActs: of an operator, before a number
-- postgres
select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  where sub = $1 and seq < $2
  order by seq desc limit $3;
-- sqlite
select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  where sub = ? and seq < ?
  order by seq desc limit ?;

-- listActs: about a record
-- postgres
select seq, explains, iss, sub, role, act, reason, salt, at from (
  select * from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where explains <= $1 order by explains desc limit 1000
  ) begun where seq >= $1
  union
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where seq = $1
  ) acts
  order by seq desc limit $2;
-- sqlite
select seq, explains, iss, sub, role, act, reason, salt, at from (
  select * from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where explains <= ? order by explains desc limit 1000
  ) begun where seq >= ?
  union
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where seq = ?
  ) acts
  order by seq desc limit ?;
