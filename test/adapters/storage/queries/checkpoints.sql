-- listArchivings
-- postgres
select ledger.seq, ledger.ts, ledger.event, ledger.task_id, ledger.agent_id, ledger.sponsor, ledger.audience, ledger.scope, ledger.jti, ledger.delegation_depth, ledger.decision, ledger.reason, ledger.count, ledger.detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where event = 'audit.archived' and event <> 'token.issued' and seq <= 9007199254740991
  order by ts desc, seq desc limit 100;
-- sqlite
select ledger.seq, ledger.ts, ledger.event, ledger.task_id, ledger.agent_id, ledger.sponsor, ledger.audience, ledger.scope, ledger.jti, ledger.delegation_depth, ledger.decision, ledger.reason, ledger.count, ledger.detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger where event = 'audit.archived' and event <> 'token.issued' and seq <= 9007199254740991
  order by ts desc, seq desc limit 100;

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

-- listExports
-- postgres
select month, last_checkpoint from ledger_archives order by month;
-- sqlite
select month, last_checkpoint from ledger_archives order by month;

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
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c where c.last_seq >= $1 order by c.last_seq limit 1;
-- sqlite
select c.checkpoint_id, c.first_seq, c.last_seq, c.tree_size, c.root_hash, c.prev_checkpoint_hash, c.closed_at, c.kid, c.signature from checkpoints c where c.last_seq >= ? order by c.last_seq limit 1;
