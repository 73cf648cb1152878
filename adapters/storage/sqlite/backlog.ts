/** What has piled up on SQLite: each question walks an index, and counts no further than it has to. */

import type { OutboxBacklog, SealingBacklog } from '../../../application/ports/storage.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Run } from './connections.ts';

/** More need not be counted: one is as alarming as the other. */
const COUNTED = 100_000;

const selectNewest = 'select checkpoint_id, closed_at, last_seq from checkpoints order by checkpoint_id desc limit 1';
const selectUnsealed = `select (select ts from ledger where seq > ? order by seq limit 1) as oldest,
  (select count(*) from (select 1 from ledger where seq > ? limit ${COUNTED})) as unsealed`;
const selectOutbox = `select (select queueing from outbox_queueing) as queueing, count(*) as waiting,
  count(*) filter (where failures > 0) as failing,
  (select ts from ledger where seq = (select min(seq) from outbox)) as oldest
  from (select failures from outbox limit ${COUNTED})`;

export function sealingBacklog(run: Run): SealingBacklog {
  const [checkpoint] = run<{ checkpoint_id: number; closed_at: Instant; last_seq: number }>(selectNewest).rows;
  const sealed = checkpoint?.last_seq ?? 0;
  const [open] = run<{ oldest: Instant | null; unsealed: number }>(selectUnsealed, [sealed, sealed]).rows;
  return {
    oldestUnsealedAt: open?.oldest ?? undefined,
    unsealed: open?.unsealed ?? 0,
    newestCheckpoint: checkpoint && { checkpointId: checkpoint.checkpoint_id, closedAt: checkpoint.closed_at },
  };
}

export function outboxBacklog(run: Run): OutboxBacklog {
  const [row] = run<{ queueing: number; waiting: number; failing: number; oldest: Instant | null }>(selectOutbox).rows;
  return {
    queueing: row?.queueing === 1,
    waiting: row?.waiting ?? 0,
    failing: row?.failing ?? 0,
    oldestAt: row?.oldest ?? undefined,
  };
}
