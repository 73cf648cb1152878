/**
 * Reads and appends the ledger on SQLite. Write transactions run one after another, and `dateOf` never dates an entry
 * before an existing record. So a page needs no lock: no record can later appear before one that was read.
 */

import type { EndedTasks } from '../../../application/decisions/effect.ts';
import type { Ledger } from '../../../application/ports/ledger.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { actDetail, type OperatorAct } from '../../../domain/operators/operator-act.ts';
import {
  type ArchivedBeforeRow,
  type ByName,
  inOrder,
  selectArchivedBefore,
  selectPage,
  toPage,
} from '../rows/ledger-page.ts';
import { entryColumns, entryValues, type LedgerRow } from '../rows/ledger-row.ts';
import { actColumns, actRow } from '../rows/operator-act-row.ts';
import { bindInstant, type Connection } from './connection.ts';
import type { Run } from './handle.ts';
import { queryBuilder } from './queries.ts';

const insert = `insert into ledger (${entryColumns.join(', ')}) values (${entryColumns.map(() => '?').join(', ')})`;

/** Queues the last appended records, if queueing is on. They are due at once, because clocks may be ahead. */
const queueLast = `insert into outbox (seq, due_at, failures)
  select seq, 0, 0 from ledger where seq > last_insert_rowid() - ? and (select queueing from outbox_queueing)`;

/** Appends the entries in order, and queues them for the sink. */
export function appendEntries(run: Run, entries: readonly LedgerEntry[]): void {
  let dated: { readonly from: Instant; readonly at: Instant } | undefined;
  for (const entry of entries) {
    if (dated?.from !== entry.at) dated = { from: entry.at, at: dateOf(run, entry.at) };
    run(insert, entryValues({ ...entry, at: dated.at }, bindInstant));
  }
  if (entries.length > 0) run(queueLast, [entries.length]);
}

/** Records of an ended task repeat the task's columns, so SQLite builds them: 1 sums up renewals, 2 is the end. */
const insertEnds = `with given (at, renewals) as (values (?, ?)), ended (nth, task_id, event, reason) as materialized (
    select key, value ->> 'taskId', value ->> 'event', value ->> 'reason' from json_each(?)
  ), record (nth, part, task_id, event, reason, count) as (
    select nth, 1, task_id, given.renewals, null,
        (select sum(unrecorded) from task_grants g where g.task_id = ended.task_id) from ended, given
    union all
    select nth, 2, task_id, event, reason, null from ended
  )
  insert into ledger (
    ts, event, task_id, agent_id, sponsor, audience, scope, delegation_depth, decision, reason, count
  )
  select given.at, record.event, t.task_id, t.agent_id, t.sponsor, t.audience, t.scope, t.delegation_depth, 'allow',
      record.reason, record.count
    from given cross join record cross join tasks t using (task_id)
    where record.part = 2 or record.count > 0 order by record.nth, record.part`;

/** Appends the records of ended tasks, and queues them for the sink. */
export function appendEnds(run: Run, { tasks, at, renewalsEvent }: EndedTasks): void {
  const ended = tasks.map(({ taskId, end }) => ({ taskId, ...end.record }));
  const { count } = run(insertEnds, [dateOf(run, at), renewalsEvent, JSON.stringify(ended)]);
  run(queueLast, [count]);
}

/** The highest number that the ledger has given to a record. */
export function lastNumber(run: Run): number {
  return run<{ seq: number }>("select seq from sqlite_sequence where name = 'ledger'").rows[0]?.seq ?? 0;
}

const insertAct = `insert into operator_acts (seq, explains, ${actColumns.join(', ')})
  values ((select max(seq) from ledger), ${['explains', ...actColumns].map(() => '?').join(', ')})`;

/** Appends an act's record, and keeps the act. @param before the last number before the decision's own records */
export function appendOperatorAct(run: Run, act: OperatorAct, before: number): void {
  // Numbers have no gaps here: one transaction runs at a time.
  const explains = lastNumber(run) > before ? before + 1 : null;
  const detail = actDetail(act).join(String(explains ?? ''));
  appendEntries(run, [{ at: act.at, event: 'operator.acted', decision: 'allow', detail }]);
  const row = actRow(act, bindInstant);
  run(insertAct, [explains, ...actColumns.map((column) => row[column])]);
}

const newest = 'select ts from ledger where ts > ? and ts < ? order by ts desc limit 1';

/** A record dated further ahead than this comes from a wrong clock. Later entries ignore its time. */
const AHEAD_AT_MOST_SECONDS = 60;

/** The date of an entry: at least that of the newest record. See docs/decisions/0001-ledger-paging.md. */
function dateOf(run: Run, at: Instant): Instant {
  return run<{ ts: Instant }>(newest, [at, plusSeconds(at, AHEAD_AT_MOST_SECONDS)]).rows[0]?.ts ?? at;
}

/**
 * Makes SQLite use the index of the first name. A `+` before a column excludes its index, because the planner cannot tell
 * which filter is more selective.
 */
const byName: ByName = (select, names, { after }) => {
  for (const [at, [column, value]] of names.entries()) {
    select.whereRaw(`${at === 0 ? column : `+${column}`} = ?`, [value]);
  }
  inOrder(select, after, bindInstant);
};

export function sqliteLedger({ read }: Connection): Ledger {
  return {
    page: (query) =>
      read((run) =>
        toPage(
          run<LedgerRow>(selectPage(queryBuilder, query, bindInstant, byName)).rows,
          run<ArchivedBeforeRow>(selectArchivedBefore(queryBuilder)).rows,
          query.limit,
        ),
      ),
    settledThrough: () =>
      read((run) => run<{ seq: number | null }>('select max(seq) as seq from ledger').rows[0]?.seq ?? 0),
  };
}
