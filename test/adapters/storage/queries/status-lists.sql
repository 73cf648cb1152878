-- findStatusList
-- postgres
with recursive below (task_id, status_list, status_index) as (
  select t.task_id, t.status_list, t.status_index
  from status_lists l cross join agents a
  cross join lateral (select * from tasks p where p.agent_id = a.agent_id and p.state = 'live' and p.audience = l.audience offset 0) p
  cross join lateral (select * from tasks t where t.parent_task_id = p.task_id and t.state = 'live' offset 0) t
  where l.list_id = $1 and not a.enabled and exists (select 1 from tasks where parent_task_id is not null)
  union
  select t.task_id, t.status_list, t.status_index
  from below b cross join lateral (select * from tasks t where t.parent_task_id = b.task_id and t.state = 'live' offset 0) t
  )
  select l.entries,
  coalesce((
  select json_agg(t.status_index) from tasks t where t.status_list = l.list_id and t.state <> 'live'
  ), '[]') as ended,
  coalesce((
  select json_agg(s.status_index) from (
  select t.status_index
  from agents a cross join lateral (select * from tasks t where t.agent_id = a.agent_id and t.state = 'live' and t.status_list = l.list_id offset 0) t
  where not a.enabled
  union all
  select b.status_index from below b where b.status_list = l.list_id
  ) s
  ), '[]') as suspended,
  coalesce((
  select json_agg(t.status_index) from (
  select (
  select o.status_index from tasks o
  where o.task_id = r.task_id and o.state = 'live' and o.status_list = l.list_id
  ) as status_index
  from revoked_tokens r where r.status_list = l.list_id
  ) t where t.status_index is not null
  ), '[]') as with_revoked_token
  from status_lists l where l.list_id = $1;
-- sqlite
with recursive below (task_id, status_list, status_index) as (
  select t.task_id, t.status_list, t.status_index
  from status_lists l cross join agents a
  cross join tasks p on p.agent_id = a.agent_id and p.state = 'live' and p.audience = l.audience
  cross join tasks t on t.parent_task_id = p.task_id and t.state = 'live'
  where l.list_id = ? and not a.enabled and exists (select 1 from tasks where parent_task_id is not null)
  union
  select t.task_id, t.status_list, t.status_index
  from below b cross join tasks t on t.parent_task_id = b.task_id and t.state = 'live'
  )
  select l.entries,
  coalesce((
  select json_group_array(t.status_index) from tasks t where t.status_list = l.list_id and t.state <> 'live'
  ), '[]') as ended,
  coalesce((
  select json_group_array(s.status_index) from (
  select t.status_index
  from agents a cross join tasks t on t.agent_id = a.agent_id and t.state = 'live' and t.status_list = l.list_id
  where not a.enabled
  union all
  select b.status_index from below b where b.status_list = l.list_id
  ) s
  ), '[]') as suspended,
  coalesce((
  select json_group_array(t.status_index) from (
  select (
  select o.status_index from tasks o
  where o.task_id = r.task_id and o.state = 'live' and o.status_list = l.list_id
  ) as status_index
  from revoked_tokens r where r.status_list = l.list_id
  ) t where t.status_index is not null
  ), '[]') as with_revoked_token
  from status_lists l where l.list_id = ?;

-- listStatusLists
-- postgres
select list_id from status_lists order by created_at, list_id;
-- sqlite
select list_id from status_lists order by created_at, list_id;

-- statusListUsage
-- postgres
select l.list_id, l.audience, l.entries, l.created_at,
  (select count(*) from tasks t where t.status_list = l.list_id and t.status_index is not null) as held
  from status_lists l order by l.created_at, l.list_id;
-- sqlite
select l.list_id, l.audience, l.entries, l.created_at,
  (select count(*) from tasks t where t.status_list = l.list_id and t.status_index is not null) as held
  from status_lists l order by l.created_at, l.list_id;
