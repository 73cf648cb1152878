/** Reads the backlog of sealing and of the outbox on Postgres. Queries read indexes, and stop at `COUNTED`. */

import type { OutboxBacklog, SealingBacklog } from '../../../application/ports/storage.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Run } from './connections.ts';

/** Counting stops here: a larger backlog needs no different alert. */
const COUNTED = 100_000;

const newest = {
  name: 'condition_newest',
  text: 'select checkpoint_id, closed_at, last_seq from checkpoints order by checkpoint_id desc limit 1',
};
const unsealed = {
  name: 'condition_unsealed',
  text: `select (select ts from ledger where seq > $1 order by seq limit 1) as oldest,
    (select count(*) from (select from ledger where seq > $1 limit ${COUNTED}) counted) as unsealed`,
};
const outbox = {
  name: 'condition_outbox',
  text: `select (select queueing from outbox_queueing) as queueing, count(*) as waiting,
    count(*) filter (where failures > 0) as failing,
    (select ts from ledger where seq = (select min(seq) from outbox)) as oldest
    from (select failures from outbox limit ${COUNTED}) counted`,
};

export async function sealingBacklog(run: Run): Promise<SealingBacklog> {
  const [checkpoint] = (await run<{ checkpoint_id: number; closed_at: Instant; last_seq: number }>(newest)).rows;
  const [open] = (await run<{ oldest: Instant | null; unsealed: number }>(unsealed, [checkpoint?.last_seq ?? 0])).rows;
  return {
    oldestUnsealedAt: open?.oldest ?? undefined,
    unsealed: open?.unsealed ?? 0,
    newestCheckpoint: checkpoint && { checkpointId: checkpoint.checkpoint_id, closedAt: checkpoint.closed_at },
  };
}

export async function outboxBacklog(run: Run): Promise<OutboxBacklog> {
  const [row] = (await run<{ queueing: boolean; waiting: number; failing: number; oldest: Instant | null }>(outbox))
    .rows;
  return {
    queueing: row?.queueing === true,
    waiting: row?.waiting ?? 0,
    failing: row?.failing ?? 0,
    oldestAt: row?.oldest ?? undefined,
  };
}
