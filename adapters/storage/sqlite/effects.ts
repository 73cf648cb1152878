/** Applies the effects of decisions (application/decisions/effect.ts) to SQLite. */

import {
  byEnd,
  EFFECT_ORDER,
  type Effect,
  type EffectName,
  type Effects,
} from '../../../application/decisions/effect.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { formatScope } from '../../../domain/scope.ts';
import { compile, inOrder, sqlite } from '../dialect.ts';
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
import { insertedTaskColumns, taskValues } from '../rows/task-row.ts';
import { overwritingFreePages, perform } from './answer.ts';
import { appendEnds, appendEntries, appendOperatorAct, lastNumber } from './append.ts';
import type { Run } from './handle.ts';
import { ENDED_AT_ONCE } from './limits.ts';

/**
 * @param deadline by `performance.now()`, for effects on very many rows. The first portion ignores it
 * @throws StorageUnavailable after the deadline. The decision is then rolled back, and is not retried
 */
export function applyEffects(run: Run, effects: readonly Effect[], deadline: number): void {
  const isActed = effects.some(({ effect }) => effect === 'operator_act');
  const applying = { deadline, before: isActed ? lastNumber(run) : 0 };
  for (const name of EFFECT_ORDER) {
    for (const effect of effects) if (effect.effect === name) apply(run, effect, applying);
  }
}

interface Applying {
  readonly deadline: number;
  /** The number of the last record before this decision, if it records an operator's act. */
  readonly before: number;
}

type Appliers = { readonly [Name in EffectName]: (run: Run, effect: Effects[Name], applying: Applying) => void };

function apply<Name extends EffectName>(
  run: Run,
  effect: { readonly effect: Name } & Effects[Name],
  applying: Applying,
): void {
  appliers[effect.effect](run, effect, applying);
}

const insertTask = insertInto('tasks', insertedTaskColumns);
const insertGrant = 'insert into task_grants (grant_hash, task_id, scope) values (?, ?, ?)';
const updateGrant =
  'update task_grants set scope = ?, renewals = ?, unrecorded = ?, renewed_at = ? where grant_hash = ?';

const insertToken = `insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at, status_list)
  values (?, ?, ?, ?, ?, (select status_list from tasks where task_id = ?))`;

function applyRow<Of>(effect: RowEffect<Of>): (run: Run, one: Of) => void {
  const { text, names } = compile(effect.text(sqlite), sqlite);
  const change = (run: Run, one: Of) => void run(text, inOrder(names, storedRow(effect, one, sqlite)));
  // An update writes the whole row anew. The old one may have filled pages, which become free.
  const freesWords = effect.table.holdsWords === true && !effect.inserts;
  return freesWords ? (run, one) => overwritingFreePages(run, () => change(run, one)) : change;
}

const ofRows = Object.fromEntries(
  Object.entries(rowEffects).map(([name, effect]) => [name, applyRow(effect as RowEffect<never>)]),
) as unknown as Pick<Appliers, RowEffectName>;

const appliers: Appliers = {
  ...ofRows,

  insert_task: (run, { task, grantHash }) => {
    run(insertTask, taskValues(task, sqlite.instant));
    run(insertGrant, [grantHash, task.taskId, formatScope(task.scope)]);
  },

  update_grant: (run, { grantHash, scope, renewals, unrecorded, renewedAt }) =>
    run(updateGrant, [formatScope(scope), renewals, unrecorded, renewedAt, grantHash]),

  end_tasks: (run, { tasks, at }, { deadline }) =>
    inPortions(tasks, ENDED_AT_ONCE, deadline, (some) => {
      for (const [end, taskIds] of byEnd(some)) {
        const ended = { taskIds: given(taskIds), at, reason: end.record.reason };
        perform(run, end.state === 'expired' ? expireTasks : revokeTasks, ended);
        perform(run, revokeGrants, ended);
        perform(run, withdrawApprovals, ended);
      }
    }),

  void_authorizations: (run, effect) => perform(run, voidAuthorizations, effect),

  delete_tasks(run, { taskIds }) {
    for (const deletion of deletionsOfTasks) perform(run, deletion, { taskIds: given(taskIds) });
  },

  revoke_token: (run, { tokenId, taskId, at, reason, forgetAt }) =>
    run(insertToken, [tokenId, taskId, at, reason, forgetAt, taskId]),

  append: (run, { entries, ended }, { deadline }) => {
    appendEntries(run, entries);
    if (ended === undefined) return;
    inPortions(ended.tasks, ENDED_AT_ONCE, deadline, (some) => appendEnds(run, { ...ended, tasks: some }));
  },

  operator_act: (run, act, { before }) => appendOperatorAct(run, act, before),
};

function inPortions<Item>(
  items: readonly Item[],
  size: number,
  deadline: number,
  apply: (some: readonly Item[]) => void,
): void {
  for (let done = 0; done < items.length; done += size) {
    if (done > 0 && performance.now() > deadline) throw new StorageUnavailable('There are too many tasks to end');
    apply(items.slice(done, done + size));
  }
}

function insertInto(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`;
}
