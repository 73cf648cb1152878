/** Drains the outbox on SQLite. What this process is delivering is known here, and to no other drain handed out. */

import type { Outbox } from '../../../application/ports/outbox.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { OutboxEntries } from './outbox-entries.ts';

export function sqliteOutbox(entries: OutboxEntries, clock: Clock): Outbox {
  const underWay = new Set<number>();
  /** One at a time: what is handed out is known before the next one looks. */
  let taking: Promise<unknown> = Promise.resolve();

  return {
    setQueueing: (on) => entries.setQueueing(on),

    async drain({ now, limit }, deliver) {
      const take = taking.then(async () => {
        const records = await entries.due(now, limit, [...underWay]);
        for (const { seq } of records) underWay.add(seq);
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
        for (const seq of seqs) underWay.delete(seq);
      }
    },
  };
}
