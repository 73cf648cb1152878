-- countBlocks
-- postgres
with counted as (select sponsor_key, source from sponsor_blocks limit $1)
  select source, count(*) as blocks, (select count(distinct sponsor_key) from counted) as people
  from counted group by source;
-- sqlite
with counted as (select sponsor_key, source from sponsor_blocks limit ?)
  select source, count(*) as blocks, (select count(distinct sponsor_key) from counted) as people
  from counted group by source;

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
