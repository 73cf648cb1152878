-- outboxBacklog
-- postgres
select (select queueing from outbox_queueing) as queueing, count(*) as waiting,
  count(*) filter (where failures > 0) as failing,
  (select ts from ledger where seq = (select min(seq) from outbox)) as oldest
  from (select failures from outbox limit 100000) counted;
-- sqlite
select (select queueing from outbox_queueing) as queueing, count(*) as waiting,
  count(*) filter (where failures > 0) as failing,
  (select ts from ledger where seq = (select min(seq) from outbox)) as oldest
  from (select failures from outbox limit 100000) counted;

-- unsealedAfter
-- postgres
select (select ts from ledger where seq > $1 order by seq limit 1) as oldest,
  (select count(*) from (select 1 from ledger where seq > $1 limit 100000) counted) as unsealed;
-- sqlite
select (select ts from ledger where seq > ? order by seq limit 1) as oldest,
  (select count(*) from (select 1 from ledger where seq > ? limit 100000) counted) as unsealed;
