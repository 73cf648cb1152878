-- countBlocks
-- postgres
with counted as (select sponsor_key, source from sponsor_blocks limit $1)
  select source, count(*) as blocks, (select count(distinct sponsor_key) from counted) as people
  from counted group by source;
-- sqlite
with counted as (select sponsor_key, source from sponsor_blocks limit ?)
  select source, count(*) as blocks, (select count(distinct sponsor_key) from counted) as people
  from counted group by source;

-- delegationRefusals: of all agents
-- postgres
select d.agent_id, a.display_name, d.refused_at
  from delegation_refusals d join agents a on a.agent_id = d.agent_id
  where d.sponsor_key = $1
  order by d.refused_at desc, d.agent_id limit $2;
-- sqlite
select d.agent_id, a.display_name, d.refused_at
  from delegation_refusals d join agents a on a.agent_id = d.agent_id
  where d.sponsor_key = ?
  order by d.refused_at desc, d.agent_id limit ?;

-- delegationRefusals: of some agents
-- postgres
select d.agent_id, a.display_name, d.refused_at
  from delegation_refusals d join agents a on a.agent_id = d.agent_id
  where d.sponsor_key = $1 and d.agent_id = any (array(select json_array_elements_text($2::json)))
  order by d.refused_at desc, d.agent_id limit $3;
-- sqlite
select d.agent_id, a.display_name, d.refused_at
  from delegation_refusals d join agents a on a.agent_id = d.agent_id
  where d.sponsor_key = ? and d.agent_id in (select value from json_each(?))
  order by d.refused_at desc, d.agent_id limit ?;

-- findBlocks
-- postgres
select sponsor_key, source, kind, blocked_at from sponsor_blocks where sponsor_key = $1 order by blocked_at, source;
-- sqlite
select sponsor_key, source, kind, blocked_at from sponsor_blocks where sponsor_key = ? order by blocked_at, source;

-- listBlocks: of all sources
-- postgres
select sponsor_key, source, kind, blocked_at from sponsor_blocks
  where blocked_at <= $1 and (blocked_at, sponsor_key, source) < ($1, $2, $3)
  order by blocked_at desc, sponsor_key desc, source desc limit $4;
-- sqlite
select sponsor_key, source, kind, blocked_at from sponsor_blocks
  where blocked_at <= ? and (blocked_at, sponsor_key, source) < (?, ?, ?)
  order by blocked_at desc, sponsor_key desc, source desc limit ?;

-- listBlocks: of a source
-- postgres
select sponsor_key, source, kind, blocked_at from sponsor_blocks
  where source >= $1 and source <= $1 and (source, blocked_at, sponsor_key) < ($1, $2, $3)
  order by source desc, blocked_at desc, sponsor_key desc limit $4;
-- sqlite
select sponsor_key, source, kind, blocked_at from sponsor_blocks
  where source = ? and (blocked_at, sponsor_key) < (?, ?)
  order by blocked_at desc, sponsor_key desc limit ?;

-- pendingLift
-- postgres
select iss, sub, forget_at from pending_unblocks where sponsor_key = $1 and forget_at > $2;
-- sqlite
select iss, sub, forget_at from pending_unblocks where sponsor_key = ? and forget_at > ?;
