/**
 * The outbox on SQLite. A drain takes several calls, with no transaction open between them: an open one would stop every
 * decision while the sink is waited for. The main thread remembers which records this process is delivering.
 */

import type { Outbox } from '../../../application/ports/outbox.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { waitAfter } from '../../../domain/ledger/delivery.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { type LedgerRow, RECORD_COLUMNS, toLedgerRecord } from '../rows/ledger-row.ts';
import type { Connection } from './connection.ts';

/** The queued records, in the database thread. */
export interface OutboxEntries {
  setQueueing(on: boolean): Promise<void>;
  /** The due records except those that are being delivered, lowest numbers first. */
  due(now: Instant, limit: number, delivering: readonly number[]): Promise<readonly LedgerRecord[]>;
  /** After delivery. */
  remove(seqs: readonly number[]): Promise<void>;
  /** After a failure: each is due again after the wait that its number of failures asks for. */
  postpone(seqs: readonly number[], failedAt: Instant): Promise<void>;
}

const updateQueueing = 'update outbox_queueing set queueing = ?';

const selectDue = `select ${RECORD_COLUMNS} from outbox join ledger using (seq)
  where due_at <= ? and seq not in (select value from json_each(?)) order by seq limit ?`;

const removeAll = 'delete from outbox where seq in (select value from json_each(?))';

const countFailure = 'update outbox set failures = failures + 1 where seq = ? returning failures';

const setDue = 'update outbox set due_at = ? where seq = ?';

export function sqliteOutboxEntries({ read, write }: Connection): OutboxEntries {
  return {
    setQueueing: (on) => write((run) => void run(updateQueueing, [on])),

    due: (now, limit, delivering) =>
      read((run) => run<LedgerRow>(selectDue, [now, JSON.stringify(delivering), limit]).rows.map(toLedgerRecord)),

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

/** In the main thread, which calls `deliver`. */
export function sqliteOutbox(entries: OutboxEntries, clock: Clock): Outbox {
  const delivering = new Set<number>();
  /** One drain takes records at a time, so that no record is in two drains. */
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
