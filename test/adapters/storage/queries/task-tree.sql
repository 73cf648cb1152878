-- taskTree
-- postgres
with recursive above (task_id, parent_task_id, delegation_depth) as (
  select task_id, parent_task_id, delegation_depth from tasks where task_id = $1
  union
  select t.task_id, t.parent_task_id, t.delegation_depth
  from above cross join lateral (select * from tasks t where t.task_id = above.parent_task_id offset 0) t
  ), tree (task_id, delegation_depth) as (
  select task_id, delegation_depth from above where parent_task_id is null
  union all
  select t.task_id, t.delegation_depth from tree cross join lateral (select * from tasks t where t.parent_task_id = tree.task_id offset 0) t
  ), page as (
  select task_id, delegation_depth from tree where (delegation_depth, task_id) > ($2, $3)
  order by delegation_depth, task_id limit $4
  )
  select t.task_id, t.parent_task_id, t.agent_id, t.audience, t.delegation_depth, t.expires_at, t.state, t.ended_at, t.end_reason,
  (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name
  from page cross join lateral (select * from tasks t where t.task_id = page.task_id offset 0) t
  order by t.delegation_depth, t.task_id;
-- sqlite
with recursive above (task_id, parent_task_id, delegation_depth) as (
  select task_id, parent_task_id, delegation_depth from tasks where task_id = ?
  union
  select t.task_id, t.parent_task_id, t.delegation_depth
  from above cross join tasks t on t.task_id = above.parent_task_id
  ), tree (task_id, delegation_depth) as (
  select task_id, delegation_depth from above where parent_task_id is null
  union all
  select t.task_id, t.delegation_depth from tree cross join tasks t on t.parent_task_id = tree.task_id
  ), page as (
  select task_id, delegation_depth from tree where (delegation_depth, task_id) > (?, ?)
  order by delegation_depth, task_id limit ?
  )
  select t.task_id, t.parent_task_id, t.agent_id, t.audience, t.delegation_depth, t.expires_at, t.state, t.ended_at, t.end_reason,
  (select a.display_name from agents a where a.agent_id = t.agent_id) as display_name
  from page cross join tasks t on t.task_id = page.task_id
  order by t.delegation_depth, t.task_id;
