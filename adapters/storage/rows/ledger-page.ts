/** Builds the audit query (specification "GET /audit"): all filters combined with AND, ordered by time and number. */

import type { Knex } from 'knex';
import type { LedgerPage, LedgerPosition, LedgerQuery } from '../../../application/ports/ledger.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { BindInstant } from './column.ts';
import { type LedgerRow, ledgerColumns, SEALED_BY, toLedgerRecord } from './ledger-row.ts';

const DECIDED = { allow: "decision = 'allow'", deny: "decision = 'deny'" } as const;

/** An indexed column or expression, and the value that it must have. */
type Name = readonly [key: string, value: string];

/** Adds name filters (most selective first), order and start of the page, so that few rows are read. */
export type ByName = (select: Knex.QueryBuilder, names: readonly Name[], query: LedgerQuery) => void;

/** Selects one record more than the page holds: its presence tells that another page follows. */
export function selectPage(knex: Knex, query: LedgerQuery, instant: BindInstant, byName: ByName): Knex.QueryBuilder {
  const select = knex
    .select(...ledgerColumns, knex.raw(SEALED_BY))
    .from('ledger')
    .limit(query.limit + 1);
  byName(select, namesOf(query), query);
  // A literal, because with a parameter the planner would not use the partial index of denials.
  if (query.decision !== undefined) select.whereRaw(DECIDED[query.decision]);
  if (query.from !== undefined) select.where('ts', '>=', instant(query.from));
  if (query.to !== undefined) select.where('ts', '<', instant(query.to));
  return select;
}

/** Orders by time, then by number, and begins with the record after a position. */
export function inOrder(select: Knex.QueryBuilder, after: LedgerPosition | undefined, instant: BindInstant): void {
  select.orderBy(['ts', 'seq']);
  if (after !== undefined) select.whereRaw('(ts, seq) > (?, ?)', [instant(after.at), after.seq]);
}

/** The most selective first. */
function namesOf({ taskId, sponsor, agentId, audience, event }: LedgerQuery): readonly Name[] {
  const columns = [
    ['task_id', taskId],
    ['sponsor', sponsor],
    ['agent_id', agentId],
    ['audience', audience],
    ['event', event],
  ] as const;
  return columns.flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]));
}

/** Selects the instant before which all records were archived. */
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
