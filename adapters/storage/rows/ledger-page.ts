/** Builds the audit query (specification "GET /audit"): all filters combined with AND, ordered by time and number. */

import type { Knex } from 'knex';
import type { LedgerPage, LedgerPosition, LedgerQuery } from '../../../application/ports/ledger.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { BindInstant } from './column.ts';
import { type LedgerRow, ledgerColumns, SEALED_BY, toLedgerRecord } from './ledger-row.ts';

const DECIDED = { allow: "decision = 'allow'", deny: "decision = 'deny'" } as const;

/** A column and the value that it must have. */
type Name = readonly [column: string, value: string];

/** How an engine reads a page, so that it reads few rows. */
export interface PageReading {
  /** Adds the condition on an indexed column and the start of the page. @returns the columns that give the order */
  start(select: Knex.QueryBuilder, first: Name | undefined, query: LedgerQuery): readonly string[];
  /** How a condition names a column, so that the engine does not read along its index. */
  unindexed(column: string): string;
}

/** Selects one record more than the page holds: its presence tells that another page follows. */
export function selectPage(
  knex: Knex,
  query: LedgerQuery,
  instant: BindInstant,
  { start, unindexed }: PageReading,
): Knex.QueryBuilder {
  const { from, to, decision, limit, mostRead } = query;
  const [first, others] = namesOf(query);
  const read = knex.select(...ledgerColumns).from('ledger');
  const order = start(read, first, query).join(', ');
  if (first?.[0] === 'event') read.whereRaw(INDEXED_EVENT);
  // A literal, because with a parameter the planner would not use the partial index of denials.
  if (decision === 'deny') read.whereRaw(DECIDED.deny);
  if (from !== undefined) read.where('ts', '>=', instant(from));
  if (to !== undefined) read.where('ts', '<', instant(to));
  const filters = [
    ...others.map(([column]) => `${unindexed(column)} = ?`),
    ...(decision === 'allow' ? [DECIDED.allow] : []),
  ].join(' and ');
  const values = others.map(([, value]) => value);
  if (mostRead === undefined || filters === '') {
    if (filters !== '') read.whereRaw(filters, values);
    return read
      .select(knex.raw(SEALED_BY))
      .orderByRaw(order)
      .limit(limit + 1);
  }
  read
    .select(knex.raw(`row_number() over (order by ${order}) as nth`))
    .orderByRaw(order)
    .limit(mostRead);
  return knex
    .select(...ledgerColumns, knex.raw(SEALED_BY))
    .select(knex.raw(`(${filters}) as matches, nth = ? as is_last_read`, [...values, mostRead]))
    .from(read.as('ledger'))
    .whereRaw(`((${filters}) or nth = ?)`, [...values, mostRead])
    .orderByRaw(order)
    .limit(limit + 1);
}

/** A row of a page. If the query limits how many records are read, the last one of these is there even if it does not match. */
export interface PageRow extends LedgerRow {
  readonly matches?: boolean | number | null;
  readonly is_last_read?: boolean | number;
}

/** Begins with the record after a position. */
export function startAfter(select: Knex.QueryBuilder, after: LedgerPosition | undefined, instant: BindInstant) {
  if (after !== undefined) select.whereRaw('(ts, seq) > (?, ?)', [instant(after.at), after.seq]);
  return ['ts', 'seq'] as const;
}

/** Most records are of this event. Its index would cost each exchange, and a page finds such records soon in any order. */
const FREQUENT_EVENT = 'token.issued';
const INDEXED_EVENT = `event <> '${FREQUENT_EVENT}'`;

/**
 * The name along whose index a page is read, the most selective one, and the other names. Denials are few, and have their
 * own index by time.
 */
function namesOf(query: LedgerQuery): readonly [first: Name | undefined, others: readonly Name[]] {
  const { taskId, sponsor, agentId, audience, event, decision } = query;
  const isIndexed = event !== FREQUENT_EVENT;
  const present = (...names: readonly (readonly [string, string | undefined])[]) =>
    names.flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]));
  const indexed = present(
    ['task_id', taskId],
    ['sponsor', sponsor],
    ['agent_id', agentId],
    ['event', isIndexed ? event : undefined],
  );
  const others = present(['audience', audience], ['event', isIndexed ? undefined : event]);
  if (decision === 'deny') return [undefined, [...indexed, ...others]];
  return [indexed[0], [...indexed.slice(1), ...others]];
}

/** Selects the instant before which all records were archived. */
export function selectArchivedBefore(knex: Knex) {
  return knex('ledger_archives').max('archived_before as archived_before');
}

export interface ArchivedBeforeRow {
  readonly archived_before: Instant | null;
}

/** The position from which the next page continues; `undefined` on the last page. */
export function endOfPage(rows: readonly PageRow[], limit: number): LedgerPosition | undefined {
  const last = rows.at(-1);
  const end = matching(rows).length > limit ? matching(rows)[limit - 1] : last?.is_last_read ? last : undefined;
  return end && { at: end.ts, seq: end.seq };
}

export function toPage(rows: readonly PageRow[], archived: readonly ArchivedBeforeRow[], limit: number): LedgerPage {
  return {
    records: matching(rows).slice(0, limit).map(toLedgerRecord),
    next: endOfPage(rows, limit),
    archivedBefore: archived[0]?.archived_before ?? undefined,
  };
}

function matching(rows: readonly PageRow[]): readonly PageRow[] {
  return rows.filter(({ matches = true }) => Boolean(matches));
}
