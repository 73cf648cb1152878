/** Queries of what waits to be sealed, and of the outbox. They read indexes, and stop at `COUNTED`. */

import type { Backlog, OutboxBacklog, SealingBacklog } from '../../../application/ports/storage.ts';
import type { Instant } from '../../../domain/instant.ts';
import { newestCheckpoint } from './checkpoints.ts';
import type { Ask, Query } from './query.ts';

/** Counting stops here: a larger backlog needs no different alert. */
const COUNTED = 100_000;

interface UnsealedRow {
  readonly oldest: Instant | null;
  readonly unsealed: number;
}

/** The records after a number. */
export const unsealedAfter: Query<number, Pick<SealingBacklog, 'oldestUnsealedAt' | 'unsealed'>> = {
  name: 'condition_unsealed',
  text: `select (select ts from ledger where seq > :sealed order by seq limit 1) as oldest,
    (select count(*) from (select 1 from ledger where seq > :sealed limit ${COUNTED}) counted) as unsealed`,
  values: (sealed) => ({ sealed }),
  read: ([row]: readonly UnsealedRow[]) => ({
    oldestUnsealedAt: row?.oldest ?? undefined,
    unsealed: row?.unsealed ?? 0,
  }),
};

interface OutboxRow {
  readonly queueing: boolean | number;
  readonly waiting: number;
  readonly failing: number;
  readonly oldest: Instant | null;
}

export const outboxBacklog: Query<undefined, OutboxBacklog> = {
  name: 'condition_outbox',
  text: `select (select queueing from outbox_queueing) as queueing, count(*) as waiting,
      count(*) filter (where failures > 0) as failing,
      (select ts from ledger where seq = (select min(seq) from outbox)) as oldest
    from (select failures from outbox limit ${COUNTED}) counted`,
  read: ([row]: readonly OutboxRow[]) => ({
    queueing: Boolean(row?.queueing),
    waiting: row?.waiting ?? 0,
    failing: row?.failing ?? 0,
    oldestAt: row?.oldest ?? undefined,
  }),
};

export async function readBacklog(ask: Ask): Promise<Backlog> {
  return { sealing: await sealingBacklog(ask), outbox: await ask(outboxBacklog, undefined) };
}

export async function sealingBacklog(ask: Ask): Promise<SealingBacklog> {
  const newest = await ask(newestCheckpoint, undefined);
  const unsealed = await ask(unsealedAfter, newest?.lastSeq ?? 0);
  return {
    ...unsealed,
    newestCheckpoint: newest && { checkpointId: newest.checkpointId, closedAt: newest.closedAt },
  };
}
