-- postpone
-- postgres
update outbox set failures = failures + 1, due_at = q.due_at
  from (select * from json_to_recordset($1::json) as q (seq bigint, due_at timestamptz)) q where outbox.seq = q.seq;
-- sqlite
update outbox set failures = failures + 1, due_at = q.due_at
  from (select value ->> 'seq' as seq, value ->> 'due_at' as due_at from json_each(?)) q where outbox.seq = q.seq;

-- recordsOf
-- postgres
select ledger.seq, ledger.ts, ledger.event, ledger.task_id, ledger.agent_id, ledger.sponsor, ledger.audience, ledger.scope, ledger.jti, ledger.delegation_depth, ledger.decision, ledger.reason, ledger.count, ledger.detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger
  where seq in (select q.seq from (select * from json_to_recordset($1::json) as q (seq bigint)) q) order by seq;
-- sqlite
select ledger.seq, ledger.ts, ledger.event, ledger.task_id, ledger.agent_id, ledger.sponsor, ledger.audience, ledger.scope, ledger.jti, ledger.delegation_depth, ledger.decision, ledger.reason, ledger.count, ledger.detail, (select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint from ledger
  where seq in (select q.seq from (select value ->> 'seq' as seq from json_each(?)) q) order by seq;

-- removeDelivered
-- postgres
delete from outbox
  where seq in (select q.seq from (select * from json_to_recordset($1::json) as q (seq bigint)) q);
-- sqlite
delete from outbox
  where seq in (select q.seq from (select value ->> 'seq' as seq from json_each(?)) q);

-- setQueueing
-- postgres
update outbox_queueing set queueing = $1;
-- sqlite
update outbox_queueing set queueing = ?;
