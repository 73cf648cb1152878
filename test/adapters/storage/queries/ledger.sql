-- countDenials: of all agents
-- postgres
with counted as materialized (
  select date_trunc('minute', ts) as minute, reason, agent_id, coalesce(count, 1) as denials from ledger
  where decision = 'deny' and ts >= $1 order by ts desc, seq desc limit $2
  )
  select minute, reason, null as agent_id, count(*) as records, sum(denials) as denials
  from counted group by minute, reason
  union all
  select null, null, agent_id, records, denials from (
  select agent_id, count(*) as records, sum(denials) as denials from counted
  where agent_id is not null
  group by agent_id order by sum(denials) desc, agent_id limit $3
  ) agents;
-- sqlite
with counted as materialized (
  select ts - ts % 60000000 as minute, reason, agent_id, coalesce(count, 1) as denials from ledger
  where decision = 'deny' and ts >= ? order by ts desc, seq desc limit ?
  )
  select minute, reason, null as agent_id, count(*) as records, sum(denials) as denials
  from counted group by minute, reason
  union all
  select null, null, agent_id, records, denials from (
  select agent_id, count(*) as records, sum(denials) as denials from counted
  where agent_id is not null
  group by agent_id order by sum(denials) desc, agent_id limit ?
  ) agents;

-- countDenials: of these agents
-- postgres
with counted as materialized (
  select date_trunc('minute', ts) as minute, reason, agent_id, coalesce(count, 1) as denials from ledger
  where decision = 'deny' and ts >= $1 order by ts desc, seq desc limit $2
  )
  select minute, reason, null as agent_id, count(*) as records, sum(denials) as denials
  from counted group by minute, reason
  union all
  select null, null, agent_id, records, denials from (
  select agent_id, count(*) as records, sum(denials) as denials from counted
  where agent_id = any (array(select json_array_elements_text($3::json)))
  group by agent_id order by sum(denials) desc, agent_id limit $4
  ) agents;
-- sqlite
with counted as materialized (
  select ts - ts % 60000000 as minute, reason, agent_id, coalesce(count, 1) as denials from ledger
  where decision = 'deny' and ts >= ? order by ts desc, seq desc limit ?
  )
  select minute, reason, null as agent_id, count(*) as records, sum(denials) as denials
  from counted group by minute, reason
  union all
  select null, null, agent_id, records, denials from (
  select agent_id, count(*) as records, sum(denials) as denials from counted
  where agent_id in (select value from json_each(?))
  group by agent_id order by sum(denials) desc, agent_id limit ?
  ) agents;

-- limitedPageRows: of an event and an audience
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint, (audience = $1) as matches, nth = $2 as is_last_read
  from (
  select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, row_number() over (order by event, ts, seq) as nth from ledger where event is not null and event >= $3 and event <= $3 and event <> 'token.issued'
  order by event, ts, seq limit $2
  ) ledger
  where (audience = $1) or nth = $2
  order by event, ts, seq limit $4;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint, (+audience = ?) as matches, nth = ? as is_last_read
  from (
  select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, row_number() over (order by ts, seq) as nth from ledger where event = ? and event <> 'token.issued'
  order by ts, seq limit ?
  ) ledger
  where (+audience = ?) or nth = ?
  order by ts, seq limit ?;

-- limitedPageRows: denied for a reason, newest first
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint, (reason = $1) as matches, nth = $2 as is_last_read
  from (
  select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, row_number() over (order by ts desc, seq desc) as nth from ledger where decision = 'deny'
  order by ts desc, seq desc limit $2
  ) ledger
  where (reason = $1) or nth = $2
  order by ts desc, seq desc limit $3;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint, (+reason = ?) as matches, nth = ? as is_last_read
  from (
  select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, row_number() over (order by ts desc, seq desc) as nth from ledger where decision = 'deny'
  order by ts desc, seq desc limit ?
  ) ledger
  where (+reason = ?) or nth = ?
  order by ts desc, seq desc limit ?;

-- limitedPageRows: of an agent, allowed
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint, (decision = 'allow') as matches, nth = $1 as is_last_read
  from (
  select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, row_number() over (order by agent_id, ts, seq) as nth from ledger where agent_id is not null and (agent_id, ts) >= ($2, $3) and agent_id <= $2 and ts >= $3
  order by agent_id, ts, seq limit $1
  ) ledger
  where (decision = 'allow') or nth = $1
  order by agent_id, ts, seq limit $4;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint, (decision = 'allow') as matches, nth = ? as is_last_read
  from (
  select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, row_number() over (order by ts, seq) as nth from ledger where agent_id = ? and ts >= ?
  order by ts, seq limit ?
  ) ledger
  where (decision = 'allow') or nth = ?
  order by ts, seq limit ?;

-- numberBefore
-- postgres
select seq from ledger order by seq desc limit 1 offset $1;
-- sqlite
select seq from ledger order by seq desc limit 1 offset ?;

-- pageRows: all records
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger
  order by ts, seq limit $1;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger
  order by ts, seq limit ?;

-- pageRows: denials of an agent, after a position
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where (ts, seq) > ($1, $2) and decision = 'deny' and agent_id = $3
  order by ts, seq limit $4;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where (ts, seq) > (?, ?) and decision = 'deny' and +agent_id = ?
  order by ts, seq limit ?;

-- pageRows: of a person within a period
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where sponsor is not null and (sponsor, ts) >= ($1, $2) and (sponsor, ts) < ($1, $3) and ts >= $2 and ts < $3
  order by sponsor, ts, seq limit $4;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where sponsor = ? and ts >= ? and ts < ?
  order by ts, seq limit ?;

-- pageRows: of a task, newest first, after a position
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where task_id is not null and task_id >= $1 and (task_id, ts, seq) < ($1, $2, $3)
  order by task_id desc, ts desc, seq desc limit $4;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where task_id = ? and (ts, seq) < (?, ?)
  order by ts desc, seq desc limit ?;

-- pageRows: of a person within a period, newest first
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where sponsor is not null and (sponsor, ts) >= ($1, $2) and (sponsor, ts) < ($1, $3) and ts >= $2 and ts < $3
  order by sponsor desc, ts desc, seq desc limit $4;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where sponsor = ? and ts >= ? and ts < ?
  order by ts desc, seq desc limit ?;

-- pageRows: of a task, after a position
-- postgres
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where task_id is not null and (task_id, ts, seq) > ($1, $2, $3) and task_id <= $1
  order by task_id, ts, seq limit $4;
-- sqlite
select seq, ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where task_id = ? and (ts, seq) > (?, ?)
  order by ts, seq limit ?;

-- signalEndedNothing
-- postgres
select 1 as found from ledger where event = 'sponsor.signal' and reason = $1 and ts >= $2 limit 1;
-- sqlite
select 1 as found from ledger where event = 'sponsor.signal' and reason = ? and ts >= ? limit 1;
