/**
 * The outbox on SQLite. A drain makes several calls to the database thread, without a transaction between them, which
 * would block every decision while the sink answers. The main thread remembers which records it is delivering.
 */

import type { Outbox } from '../../../application/ports/outbox.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { latestDue, waitAfter } from '../../../domain/ledger/delivery.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { type LedgerRow, RECORD_COLUMNS, toLedgerRecord } from '../rows/ledger-row.ts';
import type { Connection } from './connection.ts';

/** The part of the outbox that runs in the database thread. */
export interface OutboxEntries {
  setQueueing(on: boolean): Promise<void>;
  /** Returns the due records with the lowest numbers, except those that are being delivered. */
  due(now: Instant, limit: number, delivering: readonly number[]): Promise<readonly LedgerRecord[]>;
  /** Removes delivered records. */
  remove(seqs: readonly number[]): Promise<void>;
  /** Counts a failed delivery, and makes each record due again after the wait for its number of failures. */
  postpone(seqs: readonly number[], failedAt: Instant): Promise<void>;
}

const updateQueueing = 'update outbox_queueing set queueing = ?';

const selectDue = `select ${RECORD_COLUMNS} from outbox join ledger using (seq)
  where (due_at <= ? or due_at > ?) and seq not in (select value from json_each(?)) order by seq limit ?`;

const removeAll = 'delete from outbox where seq in (select value from json_each(?))';

const countFailure = 'update outbox set failures = failures + 1 where seq = ? returning failures';

const setDue = 'update outbox set due_at = ? where seq = ?';

export function sqliteOutboxEntries({ read, write }: Connection): OutboxEntries {
  return {
    setQueueing: (on) => write((run) => void run(updateQueueing, [on])),

    due: (now, limit, delivering) =>
      read((run) => {
        const found = run<LedgerRow>(selectDue, [now, latestDue(now), JSON.stringify(delivering), limit]);
        return found.rows.map(toLedgerRecord);
      }),

    remove: (seqs) => write((run) => void run(removeAll, [JSON.stringify(seqs)])),

    postpone: (seqs, failedAt) =>
      write((run) => {
        for (const seq of seqs) {
          const failures = run<{ failures: number }>(countFailure, [seq]).rows[0]?.failures;
          if (failures !== undefined) run(setDue, [plusSeconds(failedAt, waitAfter(failures)), seq]);
        }
      }),
  };
}

/** The part of the outbox that runs in the main thread, and calls `deliver`. */
export function sqliteOutbox(entries: OutboxEntries, clock: Clock): Outbox {
  const delivering = new Set<number>();
  /** Drains select their records one after another, so that no record is in two drains. */
  let taking: Promise<unknown> = Promise.resolve();

  return {
    setQueueing: (on) => entries.setQueueing(on),

    async drain({ now, limit }, deliver) {
      const take = taking.then(async () => {
        const records = await entries.due(now, limit, [...delivering]);
        for (const { seq } of records) delivering.add(seq);
        return records;
      });
      taking = take.catch(() => undefined);
      const records = await take;
      if (records.length === 0) return { kind: 'nothing_due' };

      const seqs = records.map((record) => record.seq);
      try {
        const delivered = await deliver(records);
        await (delivered ? entries.remove(seqs) : entries.postpone(seqs, clock.now()));
        return { kind: delivered ? 'delivered' : 'failed', count: records.length };
      } finally {
        for (const seq of seqs) delivering.delete(seq);
      }
    },
  };
}
