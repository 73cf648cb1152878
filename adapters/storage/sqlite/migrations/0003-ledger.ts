/**
 * The ledger (specification "Audit record", "Ledger and seal", "Sink"): append-only. An INSERT OR REPLACE deletes without
 * asking a DELETE trigger, so a number that is taken is refused as well.
 */

import type { Migration } from '../../rows/migrations.ts';

const REFUSE = "begin select raise(abort, 'the ledger is append-only'); end";

export const ledger: Migration = {
  name: '0003-ledger',
  statements: [
    `create table ledger (
      -- Never one that was used before, not even at the end.
      seq integer primary key autoincrement,
      ts integer not null,
      event text not null,
      task_id text,
      agent_id text,
      sponsor text,
      audience text,
      scope text,
      jti text,
      delegation_depth integer,
      decision text constraint ledger_decision check (decision in ('allow', 'deny')),
      reason text,
      count integer,
      detail text
    ) strict`,
    `create index ledger_by_time on ledger (ts)`,
    `create index ledger_by_sponsor on ledger (sponsor, ts) where sponsor is not null`,
    `create index ledger_by_agent on ledger (agent_id, ts) where agent_id is not null`,
    `create index ledger_by_task on ledger (task_id, ts) where task_id is not null`,
    `create index ledger_of_denials on ledger (ts) where decision = 'deny'`,
    `create trigger ledger_no_update before update on ledger ${REFUSE}`,
    `create trigger ledger_no_delete before delete on ledger ${REFUSE}`,
    `create trigger ledger_no_replace before insert on ledger
      when exists (select 1 from ledger where seq = new.seq) ${REFUSE}`,

    `create table ledger_archives (
      -- 2026-11
      month text primary key,
      -- The first instant after it.
      archived_before integer not null,
      archived_at integer not null,
      -- What its export holds; null when there was nothing in that month.
      first_checkpoint integer,
      last_checkpoint integer,
      first_seq integer,
      last_seq integer
    ) strict`,
    `create trigger ledger_archives_no_update before update on ledger_archives ${REFUSE}`,
    `create trigger ledger_archives_no_delete before delete on ledger_archives ${REFUSE}`,
    `create trigger ledger_archives_no_replace before insert on ledger_archives
      when exists (select 1 from ledger_archives where month = new.month) ${REFUSE}`,

    // Records that still have to be copied to the sink.
    `create table outbox (
      seq integer primary key,
      due_at integer not null,
      failures integer not null
    ) strict`,
    // One row: whether appends queue their record.
    `create table outbox_queueing (
      only_row integer primary key check (only_row = 1),
      queueing integer not null
    ) strict`,
    `insert into outbox_queueing (only_row, queueing) values (1, 0)`,
  ],
};
