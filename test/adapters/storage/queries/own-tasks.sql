-- ownTasks
-- postgres
select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at
  from (
  select * from (
  select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = $1 and state = 'live' and expires_at > $2
  and task_id || '' < $3
  order by task_id || '' desc limit $4
  ) live
  union all
  select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, expires_at from tasks
  where sponsor_key = $1 and state = 'live' and expires_at <= $2
  and (expires_at, task_id) < ($5, $6)
  union all
  select * from (
  select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, ended_at from tasks
  where sponsor_key = $1 and ended_at is not null
  and (ended_at, task_id) < ($5, $6)
  order by ended_at desc, task_id desc limit $4
  ) ended
  ) found
  order by over_at desc nulls first, task_id desc limit $4;
-- sqlite
select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at
  from (
  select * from (
  select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = ? and state = 'live' and expires_at > ?
  and task_id || '' < ?
  order by task_id || '' desc limit ?
  ) live
  union all
  select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, expires_at from tasks
  where sponsor_key = ? and state = 'live' and expires_at <= ?
  and (expires_at, task_id) < (?, ?)
  union all
  select * from (
  select task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason, ended_at from tasks
  where sponsor_key = ? and ended_at is not null
  and (ended_at, task_id) < (?, ?)
  order by ended_at desc, task_id desc limit ?
  ) ended
  ) found
  order by over_at desc nulls first, task_id desc limit ?;
