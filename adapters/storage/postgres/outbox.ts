/**
 * The outbox on Postgres. A drain is one transaction, which locks the rows of its entries while it delivers them. Other
 * drains skip these rows, and they are free again when the instance dies.
 */

import type { DrainOutcome, Outbox } from '../../../application/ports/outbox.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
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
import type { Connections } from './pool/pool.ts';

const takeDue: TakeDue<Due> = {
  name: 'take_due',
  text: `select seq, failures from outbox where due_at <= :now or due_at > :latest
    order by seq limit :limit for update skip locked`,
  values: dueValues,
  read: (rows: readonly Entry[]) => rows,
};

/** @param draining separate connections, because a slow sink must not hold connections that requests need */
export function postgresOutbox(serving: Connections, draining: Connections, clock: Clock, log: Log): Outbox {
  return {
    async setQueueing(on) {
      await serving.transact((run) => perform(run, setQueueing, on));
    },

    drain: (due, deliver) =>
      draining.transact<DrainOutcome>(async (run) => {
        const entries = await answer(run, takeDue, due);
        if (entries.length === 0) return { kind: 'nothing_due' };
        // Reads outside the drain's transaction, which would lock the ledger: `audit-archive` would wait for the sink.
        const records = await answer(serving.run, recordsOf, entries);
        if (records.length < entries.length) {
          log.warn('records were archived before the sink received them; the export of their month holds them', {
            records: entries.length - records.length,
          });
        }
        if (records.length === 0 || (await deliver(records))) {
          await perform(run, removeDelivered, entries);
          return { kind: 'delivered', count: records.length };
        }
        await perform(run, postpone, { entries, at: clock.now() });
        return { kind: 'failed', count: records.length };
      }),
  };
}
