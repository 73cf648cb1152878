-- archivedThrough
-- postgres
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature, a.archived_before
  from (select max(last_checkpoint) as id, max(archived_before) as archived_before from ledger_archives) a
  join checkpoints c on c.checkpoint_id = a.id;
-- sqlite
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature, a.archived_before
  from (select max(last_checkpoint) as id, max(archived_before) as archived_before from ledger_archives) a
  join checkpoints c on c.checkpoint_id = a.id;

-- listCheckpointKeys
-- postgres
select kid from checkpoints group by kid order by max(checkpoint_id) desc;
-- sqlite
select kid from checkpoints group by kid order by max(checkpoint_id) desc;

-- listCheckpoints
-- postgres
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c where c.checkpoint_id > cast($1 as bigint) order by c.checkpoint_id limit $2;
-- sqlite
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c where c.checkpoint_id > cast(? as bigint) order by c.checkpoint_id limit ?;

-- listCheckpointsBefore
-- postgres
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c where c.checkpoint_id < cast($1 as bigint) order by c.checkpoint_id desc limit $2;
-- sqlite
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c where c.checkpoint_id < cast(? as bigint) order by c.checkpoint_id desc limit ?;

-- newestCheckpoint
-- postgres
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c order by c.checkpoint_id desc limit 1;
-- sqlite
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c order by c.checkpoint_id desc limit 1;

-- recordOutside
-- postgres
select cast(coalesce(
  (select min(seq) from ledger where seq < 1), (select max(seq) from ledger where seq > 9007199254740991)
  ) as text) as seq;
-- sqlite
select cast(coalesce(
  (select min(seq) from ledger where seq < 1), (select max(seq) from ledger where seq > 9007199254740991)
  ) as text) as seq;

-- sealingOf
-- postgres
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature, $1 <= (select max(last_seq) from ledger_archives) as archived
  from checkpoints c where c.last_seq >= $1 order by c.last_seq limit 1;
-- sqlite
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature, ? <= (select max(last_seq) from ledger_archives) as archived
  from checkpoints c where c.last_seq >= ? order by c.last_seq limit 1;
