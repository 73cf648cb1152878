-- listActs: all acts
-- postgres
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  order by seq desc limit $1
  ) found order by found.seq desc;
-- sqlite
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  order by seq desc limit ?
  ) found order by found.seq desc;

-- listActs: of an operator, before a number
-- postgres
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  where sub = $1 and seq < $2
  order by seq desc limit $3
  ) found order by found.seq desc;
-- sqlite
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts
  where sub = ? and seq < ?
  order by seq desc limit ?
  ) found order by found.seq desc;

-- listActs: about a record
-- postgres
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from (
  select * from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where explains <= $1 order by explains desc limit 1000
  ) begun where seq >= $1
  union
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where seq = $1
  ) acts
  order by seq desc limit $2
  ) found order by found.seq desc;
-- sqlite
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from (
  select * from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where explains <= ? order by explains desc limit 1000
  ) begun where seq >= ?
  union
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts where seq = ?
  ) acts
  order by seq desc limit ?
  ) found order by found.seq desc;
