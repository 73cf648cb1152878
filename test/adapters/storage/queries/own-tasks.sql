-- ownAgents
-- postgres
select agent_id, count(*) as tasks, max(task_id) as newest, max(active_at) as active_at,
  (select display_name from agents a where a.agent_id = live.agent_id) as display_name
  from (
  select agent_id, task_id,
  coalesce((select max(renewed_at) from task_grants g where g.task_id = t.task_id), created_at) as active_at
  from tasks t where sponsor_key = $1 and state = 'live' and expires_at > $2
  ) live
  group by agent_id order by newest desc;
-- sqlite
select agent_id, count(*) as tasks, max(task_id) as newest, max(active_at) as active_at,
  (select display_name from agents a where a.agent_id = live.agent_id) as display_name
  from (
  select agent_id, task_id,
  coalesce((select max(renewed_at) from task_grants g where g.task_id = t.task_id), created_at) as active_at
  from tasks t where sponsor_key = ? and state = 'live' and expires_at > ?
  ) live
  group by agent_id order by newest desc;

-- ownEndedTasks
-- postgres
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + interval '-600 seconds'
  and l.ts < found.created_at + interval '600 seconds' and l.event || '' in ('purpose.stated', 'token.issued')) r) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > $1) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, expires_at as over_at from tasks
  where sponsor_key = $2 and state = 'live' and expires_at <= $1
  and (expires_at, task_id) < ($3, $4)
  union all
  select * from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at from tasks
  where sponsor_key = $2 and ended_at is not null
  and (ended_at, task_id) < ($3, $4)
  order by ended_at desc, task_id desc limit $5
  ) ended
  ) found
  order by over_at desc, task_id desc limit $5;
-- sqlite
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + -600000000
  and l.ts < found.created_at + 600000000 and l.event || '' in ('purpose.stated', 'token.issued')) found) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > ?) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, expires_at as over_at from tasks
  where sponsor_key = ? and state = 'live' and expires_at <= ?
  and (expires_at, task_id) < (?, ?)
  union all
  select * from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at from tasks
  where sponsor_key = ? and ended_at is not null
  and (ended_at, task_id) < (?, ?)
  order by ended_at desc, task_id desc limit ?
  ) ended
  ) found
  order by over_at desc, task_id desc limit ?;

-- ownLiveTasks: of all agents
-- postgres
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + interval '-600 seconds'
  and l.ts < found.created_at + interval '600 seconds' and l.event || '' in ('purpose.stated', 'token.issued')) r) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > $1) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = $2 and state = 'live' and expires_at > $1
  and task_id || '' < $3
  order by task_id || '' desc limit $4
  ) found
  order by task_id desc;
-- sqlite
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + -600000000
  and l.ts < found.created_at + 600000000 and l.event || '' in ('purpose.stated', 'token.issued')) found) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > ?) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = ? and state = 'live' and expires_at > ?
  and task_id || '' < ?
  order by task_id || '' desc limit ?
  ) found
  order by task_id desc;

-- ownLiveTasks: of an agent
-- postgres
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + interval '-600 seconds'
  and l.ts < found.created_at + interval '600 seconds' and l.event || '' in ('purpose.stated', 'token.issued')) r) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > $1) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = $2 and state = 'live' and expires_at > $1
  and agent_id || '' = $3 and task_id || '' < $4
  order by task_id || '' desc limit $5
  ) found
  order by task_id desc;
-- sqlite
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + -600000000
  and l.ts < found.created_at + 600000000 and l.event || '' in ('purpose.stated', 'token.issued')) found) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > ?) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = ? and state = 'live' and expires_at > ?
  and agent_id || '' = ? and task_id || '' < ?
  order by task_id || '' desc limit ?
  ) found
  order by task_id desc;

-- ownTasks
-- postgres
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + interval '-600 seconds'
  and l.ts < found.created_at + interval '600 seconds' and l.event || '' in ('purpose.stated', 'token.issued')) r) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > $1) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select * from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = $2 and state = 'live' and expires_at > $1
  and task_id || '' < $3
  order by task_id || '' desc limit $4
  ) live
  union all
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, expires_at as over_at from tasks
  where sponsor_key = $2 and state = 'live' and expires_at <= $1
  and (expires_at, task_id) < ($5, $6)
  union all
  select * from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at from tasks
  where sponsor_key = $2 and ended_at is not null
  and (ended_at, task_id) < ($5, $6)
  order by ended_at desc, task_id desc limit $4
  ) ended
  ) found
  order by over_at desc nulls first, task_id desc limit $4;
-- sqlite
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + -600000000
  and l.ts < found.created_at + 600000000 and l.event || '' in ('purpose.stated', 'token.issued')) found) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > ?) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select * from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at as over_at from tasks
  where sponsor_key = ? and state = 'live' and expires_at > ?
  and task_id || '' < ?
  order by task_id || '' desc limit ?
  ) live
  union all
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, expires_at as over_at from tasks
  where sponsor_key = ? and state = 'live' and expires_at <= ?
  and (expires_at, task_id) < (?, ?)
  union all
  select * from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, ended_at from tasks
  where sponsor_key = ? and ended_at is not null
  and (ended_at, task_id) < (?, ?)
  order by ended_at desc, task_id desc limit ?
  ) ended
  ) found
  order by over_at desc nulls first, task_id desc limit ?;

-- ownTasksById
-- postgres
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + interval '-600 seconds'
  and l.ts < found.created_at + interval '600 seconds' and l.event || '' in ('purpose.stated', 'token.issued')) r) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > $1) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, case when state = 'live' and expires_at > $1 then null else coalesce(ended_at, expires_at) end as over_at
  from tasks where task_id = any (array(select json_array_elements_text($2::json))) and sponsor_key || '' = $3
  ) found;
-- sqlite
select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, over_at,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.created_at + -600000000
  and l.ts < found.created_at + 600000000 and l.event || '' in ('purpose.stated', 'token.issued')) found) as records,
  (select count(*) from tasks c
  where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > ?) as live_below,
  (select salt from task_purposes p where p.task_id = found.task_id) as salt,
  (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
  (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
  (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
  (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
  (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
  (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
  (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
  (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
  from (
  select task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason, case when state = 'live' and expires_at > ? then null else coalesce(ended_at, expires_at) end as over_at
  from tasks where task_id in (select value from json_each(?)) and sponsor_key || '' = ?
  ) found;
