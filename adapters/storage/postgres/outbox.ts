/**
 * The outbox on Postgres. A drain is one transaction, which locks the rows of its entries while it delivers them. Other
 * drains skip these rows, and they are free again when the instance dies.
 */

import type { DrainOutcome, Outbox } from '../../../application/ports/outbox.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { latestDue, waitAfter } from '../../../domain/ledger/delivery.ts';
import { type LedgerRow, RECORD_COLUMNS, toLedgerRecord } from '../rows/ledger-row.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';

const setQueueing = { name: 'set_queueing', text: 'update outbox_queueing set queueing = $1' };

const takeDue = {
  name: 'take_due',
  text: 'select seq, failures from outbox where due_at <= $1 or due_at > $3 order by seq limit $2 for update skip locked',
};

const selectTaken = {
  name: 'taken_records',
  text: `select ${RECORD_COLUMNS} from ledger
    where seq in (select value::bigint from json_array_elements_text($1::json)) order by seq`,
};

const remove = {
  name: 'remove_delivered',
  text: 'delete from outbox where seq in (select value::bigint from json_array_elements_text($1::json))',
};

const postpone = {
  name: 'postpone',
  text: `update outbox o set failures = failures + 1, due_at = p.due_at
    from json_to_recordset($1::json) as p (seq bigint, due_at timestamptz) where o.seq = p.seq`,
};

interface Entry {
  readonly seq: number;
  readonly failures: number;
}

/** @param draining separate connections, because a slow sink must not hold connections that requests need */
export function postgresOutbox(serving: Connections, draining: Connections, clock: Clock, log: Log): Outbox {
  return {
    async setQueueing(on) {
      await serving.transact((run) => run(setQueueing, [on]));
    },

    drain: ({ now, limit }, deliver) =>
      draining.transact<DrainOutcome>(async (run) => {
        const { rows: entries } = await run<Entry>(takeDue, [bindInstant(now), limit, bindInstant(latestDue(now))]);
        if (entries.length === 0) return { kind: 'nothing_due' };
        const seqs = JSON.stringify(entries.map(({ seq }) => seq));
        // Not in the drain's transaction: that would lock the ledger, and `audit-archive` would wait for the sink.
        const records = (await serving.run<LedgerRow>(selectTaken, [seqs])).rows.map(toLedgerRecord);
        if (records.length < entries.length) {
          log.warn('records were archived before the sink received them; the export of their month holds them', {
            records: entries.length - records.length,
          });
        }
        if (records.length === 0 || (await deliver(records))) {
          await run(remove, [seqs]);
          return { kind: 'delivered', count: records.length };
        }
        await putOff(run, entries, clock.now());
        return { kind: 'failed', count: records.length };
      }),
  };
}

async function putOff(run: Run, entries: readonly Entry[], failedAt: Instant): Promise<void> {
  const due = entries.map(({ seq, failures }) => ({
    seq,
    due_at: bindInstant(plusSeconds(failedAt, waitAfter(failures + 1))),
  }));
  await run(postpone, [JSON.stringify(due)]);
}
