/** The audit query (specification "GET /audit"): all filters combined with AND, in the order of time and number. */

import type { Knex } from 'knex';
import type { LedgerPage, LedgerPosition, LedgerQuery } from '../../../application/ports/ledger.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { BindInstant } from './column.ts';
import { type LedgerRow, ledgerColumns, SEALED_BY, toLedgerRecord } from './ledger-row.ts';

const DECIDED = { allow: "decision = 'allow'", deny: "decision = 'deny'" } as const;

/**
 * One record more than the page holds, so that the last page is known as such.
 *
 * @param aside how a column is written that the planner is not to look records up by, since another one finds fewer
 */
export function selectPage(
  knex: Knex,
  query: LedgerQuery,
  instant: BindInstant,
  aside: (column: string) => string = (column) => column,
) {
  const select = knex
    .select(...ledgerColumns, knex.raw(SEALED_BY))
    .from('ledger')
    .orderBy(['ts', 'seq'])
    .limit(query.limit + 1);
  const named = namedBy(query);
  for (const [at, [column, name]] of named.entries())
    select.whereRaw(`${at === 0 ? column : aside(column)} = ?`, [name]);
  // As a word of the statement: for a parameter, the index of denials is not looked at.
  if (query.decision !== undefined) select.whereRaw(DECIDED[query.decision]);
  if (query.from !== undefined) select.where('ts', '>=', instant(query.from));
  if (query.to !== undefined) select.where('ts', '<', instant(query.to));
  if (query.after !== undefined) select.whereRaw('(ts, seq) > (?, ?)', [instant(query.after.at), query.after.seq]);
  return select;
}

/** What the records have to name, what fewest do first: a task has a few records, an agent those of all its people. */
function namedBy({ taskId, sponsor, agentId }: LedgerQuery): readonly (readonly [column: string, name: string])[] {
  const columns = [
    ['task_id', taskId],
    ['sponsor', sponsor],
    ['agent_id', agentId],
  ] as const;
  return columns.flatMap(([column, name]) => (name === undefined ? [] : [[column, name] as const]));
}

/** Everything before this instant has been archived. */
export function selectArchivedBefore(knex: Knex) {
  return knex('ledger_archives').max('archived_before as archived_before');
}

export interface ArchivedBeforeRow {
  readonly archived_before: Instant | null;
}

/** Where the page ends that these rows fill; `undefined` when they don't. */
export function endOfPage(rows: readonly LedgerRow[], limit: number): LedgerPosition | undefined {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return last && { at: last.ts, seq: last.seq };
}

export function toPage(rows: readonly LedgerRow[], archived: readonly ArchivedBeforeRow[], limit: number): LedgerPage {
  return {
    records: rows.slice(0, limit).map(toLedgerRecord),
    next: endOfPage(rows, limit),
    archivedBefore: archived[0]?.archived_before ?? undefined,
  };
}
