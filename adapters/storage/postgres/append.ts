/** Statements that append to the ledger on Postgres, in the caller's transaction. */

import type { EndedTasks } from '../../../application/decisions/effect.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { actDetail, type OperatorAct } from '../../../domain/operators/operator-act.ts';
import { DETAIL_OF_ROW, IS_WITHDRAWN_BY_END } from '../rows/approval-row.ts';
import { entryColumns, entryValues } from '../rows/ledger-row.ts';
import { actColumns, actRow } from '../rows/operator-act-row.ts';
import { bindInstant } from './column-types.ts';
import type { Statement } from './pool/pool.ts';

/** What `append_records` tells of the newest record, for the process to remember once it is committed (`pool/transactions.ts`). */
const APPENDED = 'newest_number, newest_at, newest_hash';

/** The text names `pg_catalog`, because the owner runs it too (`archives.ts`). */
const appendRecords = {
  name: 'append_records',
  text: `select ${APPENDED} from append_records(array(
    select entry from pg_catalog.json_populate_recordset(null::ledger_entry, $1::json) entry
  ))`,
};

/** Appends in the caller's transaction, which then holds the fence until it ends. */
export function appendEntries(entries: readonly LedgerEntry[]): Statement {
  const rows = entries.map((entry) => {
    const [at = null, ...values] = entryValues(entry, bindInstant);
    return Object.fromEntries([
      ['at', at],
      ...entryColumns.slice(1).map((column, nth) => [column, values[nth] ?? null]),
    ]);
  });
  return { query: appendRecords, values: [JSON.stringify(rows)] };
}

/**
 * Records of an ended task repeat the task's columns, so Postgres builds them: 1 sums up renewals, 2 is the end, 3 are the
 * approvals that the end withdrew. `$1` is a JSON array of `EndedTasks`.
 */
const appendTaskEnds = {
  name: 'append_task_ends',
  text: `select ${APPENDED} from append_records(array(
      select row(
          given.at, part.event, t.task_id, t.agent_id, t.sponsor, t.audience,
          case when part.nth < 3 then t.scope end, null, case when part.nth < 3 then t.delegation_depth end,
          'allow', part.reason, part.count, part.detail
        )::ledger_entry
      from rows from (json_to_recordset($1::json) as (at timestamptz, renewals_event text, withdrawn_event text, tasks json))
        with ordinality as given (at, renewals_event, withdrawn_event, tasks, nth)
      cross join lateral rows from (json_to_recordset(given.tasks) as (task_id text, event text, reason text))
        with ordinality as ended (task_id, event, reason, nth)
      cross join lateral (select * from tasks where task_id = ended.task_id offset 0) t
      cross join lateral (
        select sum(unrecorded)::integer as renewals from task_grants where task_id = ended.task_id offset 0
      ) g
      cross join lateral (
        values (1, given.renewals_event, null, g.renewals, null), (2, ended.event, ended.reason, null, null)
        union all
        select * from (
          select 3, given.withdrawn_event, ended.reason, null::integer, ${DETAIL_OF_ROW} from approvals v
            where v.task_id = ended.task_id and ${IS_WITHDRAWN_BY_END} offset 0
        ) withdrawn
      ) part (nth, event, reason, count, detail)
      where part.nth >= 2 or g.renewals > 0
      order by given.nth, ended.nth, part.nth, part.detail
    ))`,
};

/** Appends the records of ended tasks in the caller's transaction. */
export function appendEnds(ended: readonly EndedTasks[]): Statement {
  const given = ended.map(({ tasks, at, renewalsEvent, withdrawnEvent }) => ({
    at: bindInstant(at),
    renewals_event: renewalsEvent,
    withdrawn_event: withdrawnEvent,
    tasks: tasks.map(({ taskId, end }) => ({ task_id: taskId, ...end.record })),
  }));
  return { query: appendTaskEnds, values: [JSON.stringify(given)] };
}

/**
 * Appends an act's record, and keeps the act. The number of the first record must be read before: with no record yet, this
 * append becomes the first.
 */
const appendAct = {
  name: 'append_act',
  text: `with first as materialized (
        select nullif(current_setting('mandate.first_record', true), '') as seq
      ), act as materialized (
        select * from json_populate_record(null::operator_acts, $1::json)
      ), appended as materialized (
        select ${APPENDED} from first, act, append_records(array[row(
          act.at, 'operator.acted', null, null, null, null, null, null, null, 'allow', null, null,
          $2::text || coalesce(first.seq, '') || $3::text
        )::ledger_entry])
      ), kept as (
        insert into operator_acts (seq, explains, ${actColumns.join(', ')})
          select newest_number, first.seq::bigint, ${actColumns.map((column) => `act.${column}`).join(', ')}
            from first, act, appended
      )
      select ${APPENDED} from appended`,
};

/** The last append of the caller's transaction. */
export function appendOperatorAct(act: OperatorAct): Statement {
  return { query: appendAct, values: [JSON.stringify(actRow(act, bindInstant)), ...actDetail(act)] };
}
