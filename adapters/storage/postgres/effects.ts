/**
 * The statements that apply the effects of decisions (application/decisions/effect.ts) to Postgres. Effects of one kind
 * share a statement where possible.
 */

import {
  byEnd,
  EFFECT_ORDER,
  type Effect,
  type EffectName,
  type Effects,
  type EndedTasks,
} from '../../../application/decisions/effect.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { formatScope } from '../../../domain/scope.ts';
import { compile, inOrder, postgres } from '../dialect.ts';
import { voidAuthorizations } from '../queries/authorizations.ts';
import {
  deletionsOfTasks,
  expireTasks,
  given,
  revokeGrants,
  revokeTasks,
  withdrawApprovals,
} from '../queries/ended-tasks.ts';
import { type RowEffect, type RowEffectName, rowEffects, storedRow } from '../row-effects.ts';
import { IS_OPEN } from '../rows/approval-row.ts';
import type { Bound } from '../rows/column.ts';
import { insertedTaskColumns, taskValues } from '../rows/task-row.ts';
import { POSTGRES_TYPES, tables, typeOf } from '../tables.ts';
import { statementOf } from './answer.ts';
import { appendEnds, appendEntries, appendOperatorAct } from './append.ts';
import { bindInstant } from './column-types.ts';
import { ENDED_AT_ONCE, FEW_ENDED } from './limits.ts';
import type { Statement } from './pool/pool.ts';

type Statements = {
  readonly [Name in EffectName]: (effects: readonly Effects[Name][]) => Iterable<Statement>;
};

/** Yields the statements in the order in which they must run (`EFFECT_ORDER`). */
export function* statementsOf(effects: readonly Effect[]): Generator<Statement> {
  for (const name of EFFECT_ORDER) {
    const ofKind = effects.filter(({ effect }) => effect === name);
    if (ofKind.length > 0) yield* (statements[name] as Statements['append'])(ofKind as never);
  }
}

/** Inserts tasks and their grants together: foreign keys are checked at the end of the statement. */
const insertTasks = {
  name: 'insert_tasks',
  text: `with opened as materialized (
      select * from json_to_recordset($1::json) as q (
        grant_hash text, ${insertedTaskColumns.map((column) => `${column} ${POSTGRES_TYPES[typeOf(tables.tasks, column)]}`).join(', ')}
      )
    ), tasks_inserted as (
      insert into tasks (${insertedTaskColumns.join(', ')}) select ${insertedTaskColumns.join(', ')} from opened
    )
    insert into task_grants (grant_hash, task_id, scope) select grant_hash, task_id, scope from opened`,
};
const insertTokens = {
  name: 'insert_revoked_tokens',
  text: `insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at, status_list)
    select jti, task_id, revoked_at, reason, forget_at, (select t.status_list from tasks t where t.task_id = q.task_id)
      from json_populate_recordset(null::revoked_tokens, $1::json) q`,
};
const updateGrants = {
  name: 'update_grants',
  text: `update task_grants g set (scope, renewals, unrecorded, renewed_at) = (
      select q.scope, q.renewals, q.unrecorded, q.renewed_at
        from json_to_recordset($1::json) as q (
          grant_hash text, scope text, renewals integer, unrecorded integer, renewed_at timestamptz
        )
        where q.grant_hash = g.grant_hash
    ) where grant_hash = any (array(select value ->> 'grant_hash' from json_array_elements($1::json)))`,
};

/** Ends tasks at different times and with different ends, revokes their grants and withdraws their approvals. `$1` is a JSON array of rows. */
const endFewTasks = {
  name: 'end_few_tasks',
  text: `with ended as materialized (
      select * from json_to_recordset($1::json) as q (task_id text, state text, at timestamptz, reason text)
    ), grants_revoked as (
      update task_grants g set revoked_at = (select q.at from ended q where q.task_id = g.task_id)
        where task_id = any (array(select task_id from ended))
    ), approvals_withdrawn as (
      update approvals v set state = 'withdrawn', closed_at = (select q.at from ended q where q.task_id = v.task_id)
        where task_id = any (array(select task_id from ended)) and ${IS_OPEN}
    )
    update tasks t set (state, ended_at, end_reason) = (
        select q.state, case q.state when 'expired' then t.expires_at else q.at end, q.reason
          from ended q where q.task_id = t.task_id
      ) where task_id = any (array(select task_id from ended))`,
};
/** One statement for the inserted rows of all effects, or one for each changed or deleted row. */
function rowStatements<Of>(name: string, effect: RowEffect<Of>): (effects: readonly Of[]) => Iterable<Statement> {
  const { table, inserts } = effect;
  const { text, names } = compile(effect.text(postgres), postgres);
  const query = { name: inserts ? `insert_${table.name}` : name, text };
  return (effects) => {
    const stored = effects.map((each) => storedRow(effect, each, postgres));
    if (inserts) return [{ query, values: [JSON.stringify(stored)] }];
    return stored.map((row) => ({ query, values: inOrder(names, row) }));
  };
}

const ofRows = Object.fromEntries(
  Object.entries(rowEffects).map(([name, effect]) => [name, rowStatements(name, effect as RowEffect<never>)]),
) as unknown as Pick<Statements, RowEffectName>;

const statements: Statements = {
  ...ofRows,

  insert_task: (effects) => [
    {
      query: insertTasks,
      values: [
        rows(effects.toSorted(byStatusIndex), ({ task, grantHash }) => {
          const values = taskValues(task, bindInstant);
          const columns = insertedTaskColumns.map((column, nth) => [column, values[nth] ?? null]);
          return { grant_hash: grantHash, ...Object.fromEntries(columns) };
        }),
      ],
    },
  ],

  update_grant: (effects) => [
    {
      query: updateGrants,
      values: [
        rows(effects, ({ grantHash, scope, renewals, unrecorded, renewedAt }) => ({
          grant_hash: grantHash,
          scope: formatScope(scope),
          renewals,
          unrecorded,
          renewed_at: bindInstant(renewedAt),
        })),
      ],
    },
  ],

  *end_tasks(effects) {
    if (areFew(effects)) {
      const ended = effects.flatMap(({ tasks, at }) => tasks.map(({ taskId, end }) => ({ taskId, end, at })));
      yield {
        query: endFewTasks,
        values: [
          rows(ended, ({ taskId, end: { state, record }, at }) => ({
            task_id: taskId,
            state,
            at: bindInstant(at),
            reason: state === 'revoked' ? record.reason : null,
          })),
        ],
      };
      return;
    }
    for (const { tasks, at } of effects) {
      for (const some of portions(tasks, ENDED_AT_ONCE)) {
        for (const [end, taskIds] of byEnd(some)) {
          const ended = { taskIds: given(taskIds), at, reason: end.record.reason };
          yield statementOf(revokeGrants, ended);
          yield statementOf(withdrawApprovals, ended);
          yield statementOf(end.state === 'expired' ? expireTasks : revokeTasks, ended);
        }
      }
    }
  },

  void_authorizations: (effects) => effects.map((effect) => statementOf(voidAuthorizations, effect)),

  delete_tasks(effects) {
    const taskIds = given(effects.flatMap((effect) => effect.taskIds));
    return deletionsOfTasks.map((deletion) => statementOf(deletion, { taskIds }));
  },

  revoke_token: (effects) => [
    {
      query: insertTokens,
      values: [
        rows(effects, ({ tokenId, taskId, at, reason, forgetAt }) => ({
          jti: tokenId,
          task_id: taskId,
          revoked_at: bindInstant(at),
          reason,
          forget_at: bindInstant(forgetAt),
        })),
      ],
    },
  ],

  *append(effects) {
    // In their order. At most one of the two lists has items.
    let entries: readonly LedgerEntry[] = [];
    let ends: readonly EndedTasks[] = [];
    for (const { entries: more, ended } of effects) {
      if (more.length > 0) {
        yield* appendAllEnds(ends);
        ends = [];
        entries = [...entries, ...more];
      }
      if (ended === undefined) continue;
      if (entries.length > 0) yield appendEntries(entries);
      entries = [];
      ends = [...ends, ended];
    }
    if (entries.length > 0) yield appendEntries(entries);
    yield* appendAllEnds(ends);
  },

  operator_act: (effects) => effects.map(appendOperatorAct),
};

/** Two transactions that take the same indices in one order cannot deadlock: the second one waits for the first. */
function byStatusIndex(
  { task: { status: one } }: Effects['insert_task'],
  { task: { status: other } }: Effects['insert_task'],
) {
  if (one === undefined || other === undefined) return 0;
  return one.listId === other.listId ? one.index - other.index : one.listId < other.listId ? -1 : 1;
}

/** Whether the tasks of all effects share one statement. */
function areFew(ended: readonly EndedTasks[]): boolean {
  return ended.reduce((count, { tasks }) => count + tasks.length, 0) <= FEW_ENDED;
}

function* appendAllEnds(ends: readonly EndedTasks[]): Generator<Statement> {
  if (ends.length === 0) return;
  if (areFew(ends)) yield appendEnds(ends);
  else {
    for (const ended of ends) {
      for (const tasks of portions(ended.tasks, ENDED_AT_ONCE)) yield appendEnds([{ ...ended, tasks }]);
    }
  }
}

function rows<Item>(effects: readonly Item[], row: (effect: Item) => Readonly<Record<string, Bound>>): string {
  return JSON.stringify(effects.map(row));
}

function* portions<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let done = 0; done < items.length; done += size) yield items.slice(done, done + size);
}
