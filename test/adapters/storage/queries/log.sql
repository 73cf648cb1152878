-- beginLog
-- postgres
insert into log_state (only_row, origin, size, root) values (true, $1, 0, $2)
  on conflict do nothing;
-- sqlite
insert into log_state (only_row, origin, size, root) values (true, ?, 0, ?)
  on conflict do nothing;

-- findTiles
-- postgres
select q.level, q.tile_index, (
  select t.hashes from log_tiles t where t.level = q.level and t.tile_index = q.tile_index
  ) as hashes
  from (select * from json_to_recordset($1::json) as q (level integer, tile_index bigint)) q;
-- sqlite
select q.level, q.tile_index, (
  select t.hashes from log_tiles t where t.level = q.level and t.tile_index = q.tile_index
  ) as hashes
  from (select value ->> 'level' as level, value ->> 'tile_index' as tile_index from json_each(?)) q;

-- forgetCosignatures
-- postgres
delete from log_cosignatures;
-- sqlite
delete from log_cosignatures;

-- forgetProblem
-- postgres
delete from log_problems where witness = $1;
-- sqlite
delete from log_problems where witness = ?;

-- forgetProblems
-- postgres
delete from log_problems;
-- sqlite
delete from log_problems;

-- growLog
-- postgres
update log_state set size = $1, root = $2, note = $3
  where origin = $4 and size = $5 and root = $6 and halted is null;
-- sqlite
update log_state set size = ?, root = ?, note = ?
  where origin = ? and size = ? and root = ? and halted is null;

-- haltLog
-- postgres
update log_state set halted = coalesce(halted, $1);
-- sqlite
update log_state set halted = coalesce(halted, ?);

-- listCosignatures
-- postgres
select witness, size, line, at from log_cosignatures order by witness;
-- sqlite
select witness, size, line, at from log_cosignatures order by witness;

-- listLogKeys
-- postgres
select use, kid, thumbprint, public_key, active_from, active_to from log_keys order by active_from, use, kid;
-- sqlite
select use, kid, thumbprint, public_key, active_from, active_to from log_keys order by active_from, use, kid;

-- listProblems
-- postgres
select witness, kind, detail, since from log_problems order by witness;
-- sqlite
select witness, kind, detail, since from log_problems order by witness;

-- listSigners
-- postgres
select kid, min(closed_at) as first, max(closed_at) as last, max(checkpoint_id) as "lastId"
  from checkpoints where checkpoint_id > $1
  group by kid order by 2, kid;
-- sqlite
select kid, min(closed_at) as first, max(closed_at) as last, max(checkpoint_id) as "lastId"
  from checkpoints where checkpoint_id > ?
  group by kid order by 2, kid;

-- logState
-- postgres
select origin, size, root, note, published_size, published_note, halted,
  coalesce(contradicted_size >= size, false) as is_withheld
  from log_state;
-- sqlite
select origin, size, root, note, published_size, published_note, halted,
  coalesce(contradicted_size >= size, false) as is_withheld
  from log_state;

-- publishNote
-- postgres
update log_state set
  previous_size = case when published_size < $1 then published_size else previous_size end,
  previous_note = case when published_size < $1 then published_note else previous_note end,
  published_size = $1, published_note = $2
  where origin = $3 and coalesce(published_size, 0) <= $1 and coalesce(contradicted_size, -1) < $1
  and halted is null;
-- sqlite
update log_state set
  previous_size = case when published_size < ? then published_size else previous_size end,
  previous_note = case when published_size < ? then published_note else previous_note end,
  published_size = ?, published_note = ?
  where origin = ? and coalesce(published_size, 0) <= ? and coalesce(contradicted_size, -1) < ?
  and halted is null;

-- putCosignature
-- postgres
insert into log_cosignatures (witness, size, line, at) values ($1, $2, $3, $4)
  on conflict (witness) do update set size = excluded.size, line = excluded.line, at = excluded.at
  where log_cosignatures.size <= excluded.size;
-- sqlite
insert into log_cosignatures (witness, size, line, at) values (?, ?, ?, ?)
  on conflict (witness) do update set size = excluded.size, line = excluded.line, at = excluded.at
  where log_cosignatures.size <= excluded.size;

-- putProblem
-- postgres
insert into log_problems (witness, kind, detail, since) values ($1, $2, $3, $4)
  on conflict (witness) do update set kind = excluded.kind, detail = excluded.detail, since = excluded.since;
-- sqlite
insert into log_problems (witness, kind, detail, since) values (?, ?, ?, ?)
  on conflict (witness) do update set kind = excluded.kind, detail = excluded.detail, since = excluded.since;

-- putTiles
-- postgres
insert into log_tiles (level, tile_index, hashes)
  select level, tile_index, hashes
  from (select * from json_to_recordset($1::json) as q (level integer, tile_index bigint, hashes text)) q where true
  on conflict (level, tile_index) do update set hashes = excluded.hashes;
-- sqlite
insert into log_tiles (level, tile_index, hashes)
  select level, tile_index, hashes
  from (select value ->> 'level' as level, value ->> 'tile_index' as tile_index, value ->> 'hashes' as hashes from json_each(?)) q where true
  on conflict (level, tile_index) do update set hashes = excluded.hashes;

-- renameLog
-- postgres
update log_state set origin = $1, note = null, published_size = null, published_note = null,
  previous_size = null, previous_note = null, contradicted_size = null, halted = null;
-- sqlite
update log_state set origin = ?, note = null, published_size = null, published_note = null,
  previous_size = null, previous_note = null, contradicted_size = null, halted = null;

-- resumeLog
-- postgres
update log_state set halted = null;
-- sqlite
update log_state set halted = null;

-- withdrawNote
-- postgres
update log_state set
  contradicted_size = case when contradicted_size > $1 then contradicted_size else $1 end,
  published_size = case when published_size = $1 then previous_size else published_size end,
  published_note = case when published_size = $1 then previous_note else published_note end,
  previous_size = case when $1 in (published_size, previous_size) then null else previous_size end,
  previous_note = case when $1 in (published_size, previous_size) then null else previous_note end
  where origin = $2;
-- sqlite
update log_state set
  contradicted_size = case when contradicted_size > ? then contradicted_size else ? end,
  published_size = case when published_size = ? then previous_size else published_size end,
  published_note = case when published_size = ? then previous_note else published_note end,
  previous_size = case when ? in (published_size, previous_size) then null else previous_size end,
  previous_note = case when ? in (published_size, previous_size) then null else previous_note end
  where origin = ?;
