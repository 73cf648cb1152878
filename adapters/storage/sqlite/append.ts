/** Appends to the ledger on SQLite, in the caller's transaction. */

import type { EndedTasks } from '../../../application/decisions/effect.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { actDetail, type OperatorAct } from '../../../domain/operators/operator-act.ts';
import { sqlite } from '../dialect.ts';
import { DETAIL_OF_ROW, IS_WITHDRAWN_BY_END } from '../rows/approval-row.ts';
import { entryColumns, entryValues, selectBeyond } from '../rows/ledger-row.ts';
import { actColumns, actRow } from '../rows/operator-act-row.ts';
import type { Run } from './handle.ts';

const insert = `insert into ledger (${entryColumns.join(', ')}) values (${entryColumns.map(() => '?').join(', ')})`;

/** Queues the last appended records, if queueing is on. They are due at once, because clocks may be ahead. */
const queueLast = `insert into outbox (seq, due_at, failures)
  select seq, 0, 0 from ledger where seq > last_insert_rowid() - ? and (select queueing from outbox_queueing)`;

/** A foreign trigger can skip an insert silently: SQLite reports no error. @throws StorageUnavailable */
function refuseLoss(inserted: number, wanted: number): void {
  if (inserted !== wanted) throw new StorageUnavailable('the ledger did not take a record');
}

/** Appends the entries in order, and queues them for the sink. @throws StorageUnavailable if a record is not there */
export function appendEntries(run: Run, entries: readonly LedgerEntry[]): void {
  let inserted = 0;
  let dated: { readonly from: Instant; readonly at: Instant } | undefined;
  for (const entry of entries) {
    if (dated?.from !== entry.at) dated = { from: entry.at, at: dateOf(run, entry.at) };
    inserted += run(insert, entryValues({ ...entry, at: dated.at }, sqlite.instant)).count;
  }
  refuseLoss(inserted, entries.length);
  if (entries.length > 0) run(queueLast, [entries.length]);
}

/**
 * Records of an ended task repeat the task's columns, so SQLite builds them: 1 sums up renewals, 2 is the end, 3 are the
 * approvals that the end withdrew.
 */
const RECORDS_OF_ENDS = `with given (at, renewals, withdrawn) as (values (?, ?, ?)),
  ended (nth, task_id, event, reason) as materialized (
    select key, value ->> 'taskId', value ->> 'event', value ->> 'reason' from json_each(?)
  ), record (nth, part, task_id, event, reason, count, detail) as (
    select nth, 1, task_id, given.renewals, null,
        (select sum(unrecorded) from task_grants g where g.task_id = ended.task_id), null from ended, given
    union all
    select nth, 2, task_id, event, reason, null, null from ended
    union all
    select nth, 3, task_id, given.withdrawn, reason, null, ${DETAIL_OF_ROW}
      from given cross join ended cross join approvals v using (task_id) where ${IS_WITHDRAWN_BY_END}
  )`;
const OF_ENDED_TASKS = `from given cross join record cross join tasks t using (task_id)
    where record.part >= 2 or record.count > 0`;

const insertEnds = `${RECORDS_OF_ENDS}
  insert into ledger (
    ts, event, task_id, agent_id, sponsor, audience, scope, delegation_depth, decision, reason, count, detail
  )
  select given.at, record.event, t.task_id, t.agent_id, t.sponsor, t.audience, iif(record.part < 3, t.scope, null),
      iif(record.part < 3, t.delegation_depth, null), 'allow', record.reason, record.count, record.detail
    ${OF_ENDED_TASKS} order by record.nth, record.part, record.detail`;

const countEnds = `${RECORDS_OF_ENDS} select count(*) as wanted ${OF_ENDED_TASKS}`;

/** Appends the records of ended tasks, and queues them for the sink. @throws StorageUnavailable if a record is not there */
export function appendEnds(run: Run, { tasks, at, renewalsEvent, withdrawnEvent }: EndedTasks): void {
  const ended = tasks.map(({ taskId, end }) => ({ taskId, ...end.record }));
  const values = [dateOf(run, at), renewalsEvent, withdrawnEvent, JSON.stringify(ended)];
  const { count } = run(insertEnds, values);
  refuseLoss(count, run<{ wanted: number }>(countEnds, values).rows[0]?.wanted ?? 0);
  run(queueLast, [count]);
}

const selectLast = "select seq from sqlite_sequence where name = 'ledger'";

/** The highest number that the ledger has given to a record. */
export function lastNumber(run: Run): number {
  return run<{ seq: number }>(selectLast).rows[0]?.seq ?? 0;
}

/** Whether a record has, or the next one would get, a number beyond the safe integers. */
export function isBeyond(run: Run): boolean {
  return run<{ beyond: number }>(selectBeyond(selectLast)).rows[0]?.beyond === 1;
}

const insertAct = `insert into operator_acts (seq, explains, ${actColumns.join(', ')})
  values ((select max(seq) from ledger), ${['explains', ...actColumns].map(() => '?').join(', ')})`;

/** Appends an act's record, and keeps the act. @param before the last number before the decision's own records */
export function appendOperatorAct(run: Run, act: OperatorAct, before: number): void {
  // Numbers have no gaps here: one transaction runs at a time.
  const explains = lastNumber(run) > before ? before + 1 : null;
  const detail = actDetail(act).join(String(explains ?? ''));
  appendEntries(run, [{ at: act.at, event: 'operator.acted', decision: 'allow', detail }]);
  const row = actRow(act, sqlite.instant);
  run(insertAct, [explains, ...actColumns.map((column) => row[column])]);
}

const newest = 'select ts from ledger where ts > ? and ts < ? order by ts desc limit 1';

/** A record dated further ahead than this comes from a wrong clock. Later entries ignore its time. */
const AHEAD_AT_MOST_SECONDS = 60;

/** The date of an entry: at least that of the newest record. See docs/decisions/0001-ledger-paging.md. */
function dateOf(run: Run, at: Instant): Instant {
  return run<{ ts: Instant }>(newest, [at, plusSeconds(at, AHEAD_AT_MOST_SECONDS)]).rows[0]?.ts ?? at;
}
