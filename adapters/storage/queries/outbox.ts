/**
 * The records that the sink has not received yet (application/ports/outbox.ts). How an engine takes entries that no other
 * drain takes is its own (`../postgres/outbox.ts`, `../sqlite/outbox.ts`).
 */

import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { latestDue, waitAfter } from '../../../domain/ledger/delivery.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { type LedgerRow, RECORD_COLUMNS, toLedgerRecord } from '../rows/ledger-row.ts';
import type { Command, Query } from './query.ts';

export interface Entry {
  readonly seq: number;
  readonly failures: number;
}

export interface Due {
  readonly now: Instant;
  readonly limit: number;
}

export type TakeDue<Question extends Due> = Query<Question, readonly Entry[]>;

export const dueValues: NonNullable<Command<Due>['values']> = ({ now, limit }, { instant }) => ({
  now: instant(now),
  latest: instant(latestDue(now)),
  limit,
});

export const setQueueing: Command<boolean> = {
  name: 'set_queueing',
  text: 'update outbox_queueing set queueing = :queueing',
  values: (queueing) => ({ queueing }),
};

export const recordsOf: Query<readonly Entry[], readonly LedgerRecord[]> = {
  name: 'taken_records',
  text: ({ jsonRows }) => `select ${RECORD_COLUMNS} from ledger
    where seq in (select q.seq from ${jsonRows(':entries', { seq: 'bigint' })} q) order by seq`,
  values: (entries) => ({ entries: JSON.stringify(entries) }),
  read: (rows: readonly LedgerRow[]) => rows.map(toLedgerRecord),
};

export const removeDelivered: Command<readonly Entry[]> = {
  name: 'remove_delivered',
  text: ({ jsonRows }) => `delete from outbox
    where seq in (select q.seq from ${jsonRows(':entries', { seq: 'bigint' })} q)`,
  values: (entries) => ({ entries: JSON.stringify(entries) }),
};

interface Failed {
  readonly entries: readonly Entry[];
  readonly at: Instant;
}

export const postpone: Command<Failed> = {
  name: 'postpone',
  text: ({ jsonRows }) => `update outbox set failures = failures + 1, due_at = q.due_at
    from ${jsonRows(':due', { seq: 'bigint', due_at: 'instant' })} q where outbox.seq = q.seq`,
  values: ({ entries, at }, { instant }) => ({
    due: JSON.stringify(
      entries.map(({ seq, failures }) => ({ seq, due_at: instant(plusSeconds(at, waitAfter(failures + 1))) })),
    ),
  }),
};
