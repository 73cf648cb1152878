/** The audit query (specification "GET /audit"): all filters combined with AND, in the order of time and number. */

import type { Knex } from 'knex';
import type { LedgerPage, LedgerPosition, LedgerQuery } from '../../../application/ports/ledger.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { BindInstant } from './column.ts';
import { type LedgerRow, ledgerColumns, SEALED_BY, toLedgerRecord } from './ledger-row.ts';

const DECIDED = { allow: "decision = 'allow'", deny: "decision = 'deny'" } as const;

/**
 * Selects one record more than the page holds, which tells whether it is the last page.
 *
 * @param aside writes a column so that the planner uses no index of it, because another filter finds fewer records
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
  // A literal: for a parameter, the planner would not use the partial index of denials.
  if (query.decision !== undefined) select.whereRaw(DECIDED[query.decision]);
  if (query.from !== undefined) select.where('ts', '>=', instant(query.from));
  if (query.to !== undefined) select.where('ts', '<', instant(query.to));
  if (query.after !== undefined) select.whereRaw('(ts, seq) > (?, ?)', [instant(query.after.at), query.after.seq]);
  return select;
}

/** Equality filters, the most selective first: task, sponsor, agent. */
function namedBy({ taskId, sponsor, agentId }: LedgerQuery): readonly (readonly [column: string, name: string])[] {
  const columns = [
    ['task_id', taskId],
    ['sponsor', sponsor],
    ['agent_id', agentId],
  ] as const;
  return columns.flatMap(([column, name]) => (name === undefined ? [] : [[column, name] as const]));
}

/** All earlier records were archived. */
export function selectArchivedBefore(knex: Knex) {
  return knex('ledger_archives').max('archived_before as archived_before');
}

export interface ArchivedBeforeRow {
  readonly archived_before: Instant | null;
}

/** The position of the page's last record; `undefined` if the rows do not fill the page. */
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
