/** The audit query (specification "GET /audit"): all filters combined with AND, ordered by time and number. */

import type {
  CountedDenials,
  DenialsQuestion,
  LedgerPage,
  LedgerPosition,
  LedgerQuery,
} from '../../../application/ports/ledger.ts';
import type { StorageCondition } from '../../../application/ports/storage.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { WITHOUT_EFFECT } from '../../../domain/signals/without-effect.ts';
import type { Dialect } from '../dialect.ts';
import { type LedgerRow, ledgerColumns, SEALED_BY, toLedgerRecord } from '../rows/ledger-row.ts';
import type { Query } from './query.ts';

const COLUMNS = ledgerColumns.join(', ');

type NameColumn = 'task_id' | 'sponsor' | 'agent_id' | 'event' | 'audience' | 'reason';

/** Most records are of this event. Its index would cost each exchange, and a page finds such records soon in any order. */
const FREQUENT_EVENT = 'token.issued';

/**
 * The column along whose index a page is read, the most selective one, and the others. Denials are few, and have their own
 * index by time.
 */
function namesOf(query: LedgerQuery): readonly [first: NameColumn | undefined, others: readonly NameColumn[]] {
  const { taskId, sponsor, agentId, audience, event, decision, reason } = query;
  const isIndexed = event !== FREQUENT_EVENT;
  const present = (...names: readonly (readonly [NameColumn, string | undefined])[]) =>
    names.flatMap(([column, value]) => (value === undefined ? [] : [column]));
  const indexed = present(
    ['task_id', taskId],
    ['sponsor', sponsor],
    ['agent_id', agentId],
    ['event', isIndexed ? event : undefined],
  );
  const others = present(['audience', audience], ['event', isIndexed ? undefined : event], ['reason', reason]);
  if (decision === 'deny') return [undefined, [...indexed, ...others]];
  return [indexed[0], [...indexed.slice(1), ...others]];
}

function selectPage(dialect: Dialect, query: LedgerQuery): string {
  const { from, to, decision, after, mostRead, newestFirst: backwards = false } = query;
  const [first, others] = namesOf(query);
  const range = dialect.within(first && [first, `:${first}`], ['ts', 'seq'], {
    position: after === undefined ? undefined : [':after_at', ':after_seq'],
    from: from === undefined ? undefined : ':from',
    to: to === undefined ? undefined : ':to',
    backwards,
  });
  const order = range.order.map((column) => (backwards ? `${column} desc` : column)).join(', ');
  const read = [
    ...range.conditions,
    // Literals, because with parameters the planner would not use the partial indexes.
    ...(first === 'event' ? [`event <> '${FREQUENT_EVENT}'`] : []),
    ...(decision === 'deny' ? ["decision = 'deny'"] : []),
    ...(from === undefined ? [] : ['ts >= :from']),
    ...(to === undefined ? [] : ['ts < :to']),
  ];
  const filters = [
    ...others.map((column) => `${dialect.unindexed(column)} = :${column}`),
    ...(decision === 'allow' ? ["decision = 'allow'"] : []),
  ];
  if (mostRead === undefined || filters.length === 0) {
    return `select ${COLUMNS}, ${SEALED_BY} from ledger ${where([...read, ...filters])}
      order by ${order} limit :limit`;
  }
  const matches = filters.join(' and ');
  return `select ${COLUMNS}, ${SEALED_BY}, (${matches}) as matches, nth = :most_read as is_last_read
    from (
      select ${COLUMNS}, row_number() over (order by ${order}) as nth from ledger ${where(read)}
        order by ${order} limit :most_read
    ) ledger
    where (${matches}) or nth = :most_read
    order by ${order} limit :limit`;
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

/** A row of a page. If the query limits how many records are read, the last one of these is there even if it does not match. */
interface PageRow extends LedgerRow {
  readonly matches?: boolean | number | null;
  readonly is_last_read?: boolean | number;
}

/**
 * A page of the ledger. A search may be limited in how many records it reads. One record more than the page shows that
 * another page follows.
 */
export const pageRows: Query<LedgerQuery, readonly PageRow[]> = {
  text: selectPage,
  values: ({ taskId, sponsor, agentId, audience, event, reason, from, to, after, limit, mostRead }, { instant }) => ({
    task_id: taskId,
    sponsor,
    agent_id: agentId,
    audience,
    event,
    reason,
    from: from === undefined ? undefined : instant(from),
    to: to === undefined ? undefined : instant(to),
    after_at: after === undefined ? undefined : instant(after.at),
    after_seq: after?.seq,
    limit: limit + 1,
    most_read: mostRead,
  }),
  read: (rows: readonly PageRow[]) => rows,
};

/** Limited or newest first, the page is read in the order of an index, up to its limit. */
export function pageQuery({ mostRead, newestFirst }: LedgerQuery): Query<LedgerQuery, readonly PageRow[]> {
  return mostRead === undefined && newestFirst !== true ? pageRows : limitedPageRows;
}

export const limitedPageRows: Query<LedgerQuery, readonly PageRow[]> = { ...pageRows, plan: 'in_order' };

/** Of a minute and a reason, or of an agent. */
interface DenialsRow {
  readonly minute: Instant | null;
  readonly reason: string | null;
  readonly agent_id: AgentId | null;
  readonly records: number;
  readonly denials: number;
}

/**
 * Reads the newest denials first, once for both counts: where it ends early, only the oldest minute that it reached is
 * incomplete.
 */
export const countDenials: Query<DenialsQuestion, CountedDenials> = {
  plan: 'in_order',
  // A summary of denials (`count`) stands for so many.
  text: ({ minuteOf, among, texts }, { agents }) => `with counted as materialized (
      select ${minuteOf('ts')} as minute, reason, agent_id, coalesce(count, 1) as denials from ledger
        where decision = 'deny' and ts >= :from order by ts desc, seq desc limit :most
    )
    select minute, reason, null as agent_id, count(*) as records, sum(denials) as denials
      from counted group by minute, reason
    union all
    select null, null, agent_id, records, denials from (
      select agent_id, count(*) as records, sum(denials) as denials from counted
        where ${agents === undefined ? 'agent_id is not null' : `agent_id ${among(texts(':agents'))}`}
        group by agent_id order by sum(denials) desc, agent_id limit :most_agents
    ) agents`,
  values: ({ from, most, agents, mostAgents }, { instant }) => ({
    from: instant(from),
    most,
    agents: agents && JSON.stringify(agents),
    most_agents: mostAgents,
  }),
  read: (rows: readonly DenialsRow[]) => ({
    reasons: rows.flatMap(({ minute, reason, records, denials }) =>
      minute === null ? [] : [{ minute, reason: reason ?? undefined, records, denials: Number(denials) }],
    ),
    agents: rows.flatMap(({ agent_id, denials }) =>
      agent_id === null ? [] : [{ agentId: agent_id, denials: Number(denials) }],
    ),
  }),
};

/** The number of a record so many records before the end, in the order of numbers. 0 if there are fewer records. */
export const numberBefore: Query<number, number> = {
  name: 'number_before',
  plan: 'in_order',
  text: 'select seq from ledger order by seq desc limit 1 offset :records',
  values: (records) => ({ records }),
  read: ([row]: readonly { readonly seq: number }[]) => row?.seq ?? 0,
};

/** Whether a signal of this source since then ended nothing (`WITHOUT_EFFECT`). */
export const signalEndedNothing: Query<Parameters<StorageCondition['signalEndedNothing']>[0], boolean> = {
  name: 'condition_ended_nothing',
  text: `select 1 as found from ledger where event = 'sponsor.signal' and reason = :reason and ts >= :since limit 1`,
  values: ({ source, since }, { instant }) => ({ reason: WITHOUT_EFFECT[source], since: instant(since) }),
  read: (rows: readonly unknown[]) => rows.length > 0,
};

/** The position from which the next page continues; `undefined` on the last page. */
export function endOfPage(rows: readonly PageRow[], limit: number): LedgerPosition | undefined {
  const last = rows.at(-1);
  const end = matching(rows).length > limit ? matching(rows)[limit - 1] : last?.is_last_read ? last : undefined;
  return end && { at: end.ts, seq: end.seq };
}

export function toPage(rows: readonly PageRow[], limit: number): LedgerPage {
  return {
    records: matching(rows).slice(0, limit).map(toLedgerRecord),
    next: endOfPage(rows, limit),
  };
}

function matching(rows: readonly PageRow[]): readonly PageRow[] {
  return rows.filter(({ matches = true }) => Boolean(matches));
}
