/**
 * The outbox on SQLite. A drain makes several calls to the database thread, without a transaction between them, which
 * would block every decision while the sink answers. The main thread remembers which records it is delivering.
 */

import type { Outbox } from '../../../application/ports/outbox.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import {
  type Due,
  dueValues,
  type Entry,
  postpone,
  recordsOf,
  removeDelivered,
  setQueueing,
  type TakeDue,
} from '../queries/outbox.ts';
import { answer, perform } from './answer.ts';
import type { Connection } from './connection.ts';

interface DueNow extends Due {
  /** The numbers of records that are being delivered. They are not taken again. */
  readonly delivering: readonly number[];
}

interface Taken {
  readonly entries: readonly Entry[];
  readonly records: readonly LedgerRecord[];
}

/** The part of the outbox that runs in the database thread. */
export interface OutboxEntries {
  setQueueing(on: boolean): Promise<void>;
  /** Returns the due entries with the lowest numbers, and their records. */
  take(due: DueNow): Promise<Taken>;
  /** Removes delivered entries. */
  remove(entries: readonly Entry[]): Promise<void>;
  /** Counts a failed delivery, and makes each entry due again after the wait for its number of failures. */
  postpone(entries: readonly Entry[], failedAt: Instant): Promise<void>;
}

const takeDue: TakeDue<DueNow> = {
  text: `select seq, failures from outbox where (due_at <= :now or due_at > :latest)
    and seq not in (select value from json_each(:delivering))
    and exists (select 1 from ledger where ledger.seq = outbox.seq) order by seq limit :limit`,
  values: (due, dialect) => ({ ...dueValues(due, dialect), delivering: JSON.stringify(due.delivering) }),
  read: (rows: readonly Entry[]) => rows,
};

export function sqliteOutboxEntries({ read, write }: Connection): OutboxEntries {
  return {
    setQueueing: (on) => write((run) => void perform(run, setQueueing, on)),
    take: (due) =>
      read((run) => {
        const entries = answer(run, takeDue, due);
        return { entries, records: answer(run, recordsOf, entries) };
      }),
    remove: (entries) => write((run) => void perform(run, removeDelivered, entries)),
    postpone: (entries, at) => write((run) => void perform(run, postpone, { entries, at })),
  };
}

/** The part of the outbox that runs in the main thread, and calls `deliver`. */
export function sqliteOutbox(outbox: OutboxEntries, clock: Clock): Outbox {
  const delivering = new Set<number>();
  /** Drains take their entries one after another, so that no entry is in two drains. */
  let taking: Promise<unknown> = Promise.resolve();

  return {
    setQueueing: (on) => outbox.setQueueing(on),

    async drain({ now, limit }, deliver) {
      const take = taking.then(async () => {
        const taken = await outbox.take({ now, limit, delivering: [...delivering] });
        for (const { seq } of taken.entries) delivering.add(seq);
        return taken;
      });
      taking = take.catch(() => undefined);
      const { entries, records } = await take;
      if (records.length === 0) return { kind: 'nothing_due' };

      try {
        const delivered = await deliver(records);
        await (delivered ? outbox.remove(entries) : outbox.postpone(entries, clock.now()));
        return { kind: delivered ? 'delivered' : 'failed', count: records.length };
      } finally {
        for (const { seq } of entries) delivering.delete(seq);
      }
    },
  };
}
