-- chainOfTask
-- postgres
with recursive chain (task_id, parent_task_id, above) as (
  select task_id, parent_task_id, 0 from tasks where task_id = $1
  union all
  select p.task_id, p.parent_task_id, chain.above + 1
  from chain cross join lateral (select * from tasks p where p.task_id = chain.parent_task_id offset 0) p where chain.above < 5
  )
  select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, g.scope as grant_scope, g.grant_hash,
  (select a.enabled from agents a where a.agent_id = t.agent_id) as enabled
  from chain cross join lateral (select * from tasks t where t.task_id = chain.task_id offset 0) t
  cross join lateral (select * from task_grants g where g.task_id = t.task_id offset 0) g
  order by chain.above;
-- sqlite
with recursive chain (task_id, parent_task_id, above) as (
  select task_id, parent_task_id, 0 from tasks where task_id = ?
  union all
  select p.task_id, p.parent_task_id, chain.above + 1
  from chain cross join tasks p on p.task_id = chain.parent_task_id where chain.above < 5
  )
  select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, g.scope as grant_scope, g.grant_hash,
  (select a.enabled from agents a where a.agent_id = t.agent_id) as enabled
  from chain cross join tasks t on t.task_id = chain.task_id
  cross join task_grants g on g.task_id = t.task_id
  order by chain.above;

-- countLiveTasks: of all
-- postgres
select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tasks t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > $1 and t.ended_at is null limit $2
  ) counted;
-- sqlite
select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tasks t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > ? and t.ended_at is null limit ?
  ) counted;

-- countLiveTasks: of an agent
-- postgres
select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tasks t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > $1 and t.agent_id = $2 limit $3
  ) counted;
-- sqlite
select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tasks t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > ? and t.agent_id = ? limit ?
  ) counted;

-- countLiveTasks: of a person
-- postgres
select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tasks t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > $1 and t.sponsor_key = $2 limit $3
  ) counted;
-- sqlite
select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tasks t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > ? and t.sponsor_key = ? limit ?
  ) counted;

-- countLiveTasks: of the end of an agent
-- postgres
with recursive tree (task_id) as (
  select task_id from tasks where agent_id = $1 and state = 'live'
  union
  select c.task_id from tree cross join lateral (select * from tasks c where c.parent_task_id = tree.task_id offset 0) c
  ) select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tree cross join lateral (select * from tasks t where t.task_id = tree.task_id offset 0) t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > $2 and true limit $3
  ) counted;
-- sqlite
with recursive tree (task_id) as (
  select task_id from tasks where agent_id = ? and state = 'live'
  union
  select c.task_id from tree cross join tasks c on c.parent_task_id = tree.task_id
  ) select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tree cross join tasks t on t.task_id = tree.task_id left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > ? and true limit ?
  ) counted;

-- countLiveTasks: of the end of a task
-- postgres
with recursive tree (task_id) as (
  select task_id from tasks where task_id = $1
  union
  select c.task_id from tree cross join lateral (select * from tasks c where c.parent_task_id = tree.task_id offset 0) c
  ) select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tree cross join lateral (select * from tasks t where t.task_id = tree.task_id offset 0) t left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > $2 and true limit $3
  ) counted;
-- sqlite
with recursive tree (task_id) as (
  select task_id from tasks where task_id = ?
  union
  select c.task_id from tree cross join tasks c on c.parent_task_id = tree.task_id
  ) select count(*) as tasks, max(expires_at) as last_expiry,
  max(max_token_ttl) as longest_token_ttl
  from (
  select t.expires_at, a.max_token_ttl from tree cross join tasks t on t.task_id = tree.task_id left join agents a on a.agent_id = t.agent_id
  where t.state = 'live' and t.expires_at > ? and true limit ?
  ) counted;

-- findGrant
-- postgres
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, g.scope as grant_scope, g.renewals, g.revoked_at,
  g.previous_hash, z.request_id as authorization_id, z.client as authorization_client,
  z.redirect_uri as authorization_uri, g.rotation_hash from task_grants g join tasks t using (task_id)
  left join authorizations z on z.task_id = t.task_id
  where g.grant_hash = $1 and t.agent_id = $2;
-- sqlite
select t.task_id, t.agent_id, t.sponsor_key, t.sponsor, t.session_id, t.parent_task_id, t.delegated_by, t.audience, t.scope, t.held_scope, t.asked_scope, t.delegation_depth, t.created_at, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, g.scope as grant_scope, g.renewals, g.revoked_at,
  g.previous_hash, z.request_id as authorization_id, z.client as authorization_client,
  z.redirect_uri as authorization_uri, g.rotation_hash from task_grants g join tasks t using (task_id)
  left join authorizations z on z.task_id = t.task_id
  where g.grant_hash = ? and t.agent_id = ?;

-- findSponsor
-- postgres
select sponsor_key from tasks where task_id = $1;
-- sqlite
select sponsor_key from tasks where task_id = ?;

-- livePeople
-- postgres
with recursive people (sponsor_key, nth) as (
  select (select min(sponsor_key) from tasks where sponsor_key >= ''), 1
  union all
  select (select min(t.sponsor_key) from tasks t where t.sponsor_key > people.sponsor_key), nth + 1
  from people where people.sponsor_key is not null and nth < $1
  )
  select sponsor_key from people
  where exists (select 1 from tasks t where t.sponsor_key = people.sponsor_key and t.state = 'live' offset 0);
-- sqlite
with recursive people (sponsor_key, nth) as (
  select (select min(sponsor_key) from tasks where sponsor_key >= ''), 1
  union all
  select (select min(t.sponsor_key) from tasks t where t.sponsor_key > people.sponsor_key), nth + 1
  from people where people.sponsor_key is not null and nth < ?
  )
  select sponsor_key from people
  where exists (select 1 from tasks t where t.sponsor_key = people.sponsor_key and t.state = 'live' );

-- rotates
-- postgres
select 1 from task_grants where task_id = $1 and rotation_hash is not null;
-- sqlite
select 1 from task_grants where task_id = ? and rotation_hash is not null;

-- tokenFacts
-- postgres
select t.task_id, t.agent_id, t.sponsor, t.delegated_by, t.audience, t.scope, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, a.enabled,
  r.revoked_at as token_revoked_at, r.reason as token_reason from tasks t
  left join agents a using (agent_id) left join revoked_tokens r on r.jti = $1 where t.task_id = $2;
-- sqlite
select t.task_id, t.agent_id, t.sponsor, t.delegated_by, t.audience, t.scope, t.expires_at, t.status_list, t.status_index, t.state, t.ended_at, t.end_reason, a.enabled,
  r.revoked_at as token_revoked_at, r.reason as token_reason from tasks t
  left join agents a using (agent_id) left join revoked_tokens r on r.jti = ? where t.task_id = ?;
