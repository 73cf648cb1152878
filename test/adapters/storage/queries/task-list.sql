-- findListedTask
-- postgres
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, g.scope as grant_scope, g.renewed_at, p.purpose, p.salt,
  z.request_id as authorization_id, z.client as authorization_client,
  z.redirect_uri as authorization_uri, g.rotation_hash, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = t.task_id and l.ts > t.created_at + interval '-600 seconds'
  and l.ts < t.created_at + interval '600 seconds' and l.event || '' in ('purpose.stated', 'token.issued')) r) as records
  from tasks t join task_grants g on g.task_id = t.task_id left join task_purposes p on p.task_id = t.task_id
  left join authorizations z on z.task_id = t.task_id
  where t.task_id = $1;
-- sqlite
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, g.scope as grant_scope, g.renewed_at, p.purpose, p.salt,
  z.request_id as authorization_id, z.client as authorization_client,
  z.redirect_uri as authorization_uri, g.rotation_hash, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = t.task_id and l.ts > t.created_at + -600000000
  and l.ts < t.created_at + 600000000 and l.event || '' in ('purpose.stated', 'token.issued')) found) as records
  from tasks t join task_grants g on g.task_id = t.task_id left join task_purposes p on p.task_id = t.task_id
  left join authorizations z on z.task_id = t.task_id
  where t.task_id = ?;

-- listTasks: of all people
-- postgres
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (select task_id, 1 as matches, 0 as is_last_read from tasks where lower(state) >= $1 and lower(state) <= $1 and (lower(state), task_id) < ($1, $2) order by lower(state) desc, task_id desc limit $3) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;
-- sqlite
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (select task_id, 1 as matches, 0 as is_last_read from tasks where lower(state) = ? and task_id < ? order by task_id desc limit ?) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;

-- listTasks: of a person
-- postgres
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (select task_id, 1 as matches, 0 as is_last_read from tasks where sponsor_key >= $1 and sponsor_key <= $1 and (sponsor_key, state) >= ($1, $2) and (sponsor_key, state, task_id) < ($1, $2, $3) order by sponsor_key desc, state desc, task_id desc limit $4) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;
-- sqlite
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (select task_id, 1 as matches, 0 as is_last_read from tasks where sponsor_key = ? and state = ? and task_id < ? order by task_id desc limit ?) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;

-- listTasks: live, of an audience
-- postgres
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (
  select task_id, case when audience = $1 then 1 else 0 end as matches,
  case when nth = $2 then 1 else 0 end as is_last_read
  from (
  select task_id, audience, lower(state) as by_0, task_id as by_1, row_number() over (order by lower(state) desc, task_id desc) as nth
  from tasks where lower(state) >= $3 and lower(state) <= $3 and (lower(state), task_id) < ($3, $4) and expires_at > $5 order by lower(state) desc, task_id desc limit $2
  ) counted
  where (audience = $1) or nth = $2
  order by by_0 desc, by_1 desc limit $6) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;
-- sqlite
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (
  select task_id, case when audience = ? then 1 else 0 end as matches,
  case when nth = ? then 1 else 0 end as is_last_read
  from (
  select task_id, audience, task_id as by_0, row_number() over (order by task_id desc) as nth
  from tasks where lower(state) = ? and task_id < ? and expires_at > ? order by task_id desc limit ?
  ) counted
  where (audience = ?) or nth = ?
  order by by_0 desc limit ?) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;

-- listTasks: expired, of a person, an agent and an audience
-- postgres
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (with overdue as materialized (
  select task_id, sponsor_key, agent_id, audience from tasks
  where state = 'live' and ended_at is null and expires_at <= $1
  )
  select task_id, matches, is_last_read from (
  select task_id, case when agent_id = $2 and audience = $3 then 1 else 0 end as matches,
  case when nth = $4 then 1 else 0 end as is_last_read
  from (
  select task_id, agent_id, audience, sponsor_key as by_0, state as by_1, task_id as by_2, row_number() over (order by sponsor_key desc, state desc, task_id desc) as nth
  from tasks where sponsor_key >= $5 and sponsor_key <= $5 and (sponsor_key, state) >= ($5, $6) and (sponsor_key, state, task_id) < ($5, $6, $7) order by sponsor_key desc, state desc, task_id desc limit $4
  ) counted
  where (agent_id = $2 and audience = $3) or nth = $4
  order by by_0 desc, by_1 desc, by_2 desc limit $8) recorded
  union all
  select task_id, 1, 0 from overdue where sponsor_key = $5 and agent_id = $2 and audience = $3 and task_id < $7
  order by task_id desc limit $8) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;
-- sqlite
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name, (select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals, found.matches, found.is_last_read
  from (with overdue as materialized (
  select task_id, sponsor_key, agent_id, audience from tasks
  where state = 'live' and ended_at is null and expires_at <= ?
  )
  select task_id, matches, is_last_read from (
  select task_id, case when agent_id = ? and audience = ? then 1 else 0 end as matches,
  case when nth = ? then 1 else 0 end as is_last_read
  from (
  select task_id, agent_id, audience, task_id as by_0, row_number() over (order by task_id desc) as nth
  from tasks where sponsor_key = ? and state = ? and task_id < ? order by task_id desc limit ?
  ) counted
  where (agent_id = ? and audience = ?) or nth = ?
  order by by_0 desc limit ?) recorded
  union all
  select task_id, 1, 0 from overdue where sponsor_key = ? and agent_id = ? and audience = ? and task_id < ?
  order by task_id desc limit ?) found cross join tasks t where t.task_id = found.task_id
  order by t.task_id desc;
