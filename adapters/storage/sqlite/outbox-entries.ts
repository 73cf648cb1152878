/**
 * The outbox on SQLite, in steps between which nothing is held: no transaction is open while the network is waited
 * for, since every decision would wait with it.
 */

import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { waitAfter } from '../../../domain/ledger/delivery.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { type LedgerRow, RECORD_COLUMNS, toLedgerRecord } from '../rows/ledger-row.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './connections.ts';

/** Arguments and answers are plain data, so that it can be asked from another thread. */
export interface OutboxEntries {
  setQueueing(on: boolean): Promise<void>;
  /** The records that are due, lowest numbers first, but for those that somebody is delivering. */
  due(now: Instant, limit: number, except: readonly number[]): Promise<readonly LedgerRecord[]>;
  /** They have been delivered. */
  remove(seqs: readonly number[]): Promise<void>;
  /** They have not been: each is due again after the wait that its failures ask for. */
  postpone(seqs: readonly number[], failedAt: Instant): Promise<void>;
}

const update = 'update outbox_queueing set queueing = ?';

const selectDue = `select ${RECORD_COLUMNS} from outbox join ledger using (seq)
  where due_at <= ? and seq not in (select value from json_each(?)) order by seq limit ?`;

const removeAll = 'delete from outbox where seq in (select value from json_each(?))';

const countFailure = 'update outbox set failures = failures + 1 where seq = ? returning failures';

const setDue = 'update outbox set due_at = ? where seq = ?';

export function sqliteOutboxEntries({ read, decide }: Connections): OutboxEntries {
  return {
    setQueueing: (on) => decide((run) => void run(update, [on])),

    due: (now, limit, except) =>
      read((run) =>
        run<LedgerRow>(selectDue, [bindInstant(now), JSON.stringify(except), limit]).rows.map(toLedgerRecord),
      ),

    remove: (seqs) => decide((run) => void run(removeAll, [JSON.stringify(seqs)])),

    postpone: (seqs, failedAt) =>
      decide((run) => {
        for (const seq of seqs) {
          const failures = run<{ failures: number }>(countFailure, [seq]).rows[0]?.failures;
          if (failures === undefined) continue;
          run(setDue, [bindInstant(plusSeconds(failedAt, waitAfter(failures))), seq]);
        }
      }),
  };
}
