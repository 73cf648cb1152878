/**
 * The ledger on SQLite. Decisions are made one after another, so a record that is read has all that sort before it:
 * a page needs no fence, only the dating of `append`.
 */

import type { Ledger } from '../../../application/ports/ledger.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { denialOf } from '../../../domain/sponsors/block.ts';
import type { Bound } from '../rows/column.ts';
import { type ArchivedBeforeRow, selectArchivedBefore, selectPage, toPage } from '../rows/ledger-page.ts';
import { entryColumns, entryValues, type LedgerRow } from '../rows/ledger-row.ts';
import { spendEach } from './assertions.ts';
import { findBlocks } from './blocks.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';

const insert = `insert into ledger (${entryColumns.join(', ')}) values (${entryColumns.map(() => '?').join(', ')})`;

/** The number that was just taken, while queueing is on; due at once, whatever clock dated it. */
const queue = `insert into outbox (seq, due_at, failures)
  select last_insert_rowid(), 0, 0 from outbox_queueing where queueing`;

const newest = 'select ts from ledger where ts > ? and ts < ? order by ts desc limit 1';

/** Further ahead than this a clock must have been wrong, and must not date everything that follows. */
const AHEAD_AT_MOST_SECONDS = 60;

/** The time that an append is given: no earlier than what is there. See docs/decisions/0001-ledger-paging.md. */
export function dateOf(run: Run, at: Instant): Instant {
  return run<{ ts: Instant }>(newest, [at, plusSeconds(at, AHEAD_AT_MOST_SECONDS)]).rows[0]?.ts ?? at;
}

/** Writes an entry that has been dated so, in the same transaction, and queues it for the sink. */
function write(run: Run, entry: LedgerEntry): void {
  run(insert, entryValues(entry, bindInstant));
  run(queue);
}

const lastNumber = 'select seq from sqlite_sequence where name = ?';

const queueAfter = `insert into outbox (seq, due_at, failures)
  select seq, 0, 0 from ledger where seq > ? and (select queueing from outbox_queueing)`;

/**
 * The same for thousands: one statement for what a query selects, in its order.
 *
 * @param query of the columns that `write` gives, dated by `dateOf`
 */
export function writeSelected(run: Run, query: string, values: readonly Bound[]): void {
  const last = run<{ seq: number }>(lastNumber, ['ledger']).rows[0]?.seq ?? 0;
  run(`insert into ledger (${entryColumns.join(', ')}) ${query}`, values);
  run(queueAfter, [last]);
}

export function append(run: Run, entry: LedgerEntry): void {
  write(run, { ...entry, at: dateOf(run, entry.at) });
}

/** SQLite does not know which of two names fewer records have, and no index is used for an expression. */
const setAside = (column: string): string => `+${column}`;

export function sqliteLedger({ knex, read, decide }: Connections): Ledger {
  return {
    append: (entry) => decide((run) => append(run, entry)),

    refuse: ({ entry, assertion, sponsorKey }) =>
      decide((run) => {
        const denial = sponsorKey && denialOf(findBlocks(run, sponsorKey));
        const replayed = assertion !== undefined && !spendEach(run, assertion);
        const reason = replayed ? 'actor_replayed' : (denial ?? entry.reason);
        append(run, { ...entry, reason });
        return reason;
      }),

    page: (query) =>
      read((run) =>
        toPage(
          run<LedgerRow>(selectPage(knex, query, bindInstant, setAside)).rows,
          run<ArchivedBeforeRow>(selectArchivedBefore(knex)).rows,
          query.limit,
        ),
      ),
  };
}
