/** Builds the lists of tasks for operators, newest first. Each reads few more rows than its page. */

import type { Knex } from 'knex';
import type { ListedTask, TasksQuestion } from '../../../application/ports/queries.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { TaskState } from '../../../domain/tasks/task.ts';
import { type BindInstant, storable } from './column.ts';
import { LAST_TASK_ID, type TaskRow, taskColumns, toTask, toTaskState } from './task-row.ts';

export interface ListedTaskRow extends TaskRow {
  readonly display_name: string | null;
  readonly renewals: number | null;
}

const LISTED_COLUMNS = [
  ...taskColumns.map((column) => `t.${column}`),
  '(select a.display_name from agents a where a.agent_id = t.agent_id) as display_name',
  '(select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals',
].join(', ');

/** A column and the value that it must have. */
type Name = readonly [column: 'sponsor_key' | 'agent_id' | 'audience', value: string];

/** Adds name filters (most selective first), the state, the order and the start of the page. */
export type ByNames = (
  select: Knex.QueryBuilder,
  names: readonly Name[],
  state: TaskState['kind'],
  before: string,
) => void;

/** One statement, so that a task that ends meanwhile is read once. */
export function selectListedTasks(knex: Knex, question: TasksQuestion, instant: BindInstant, byNames: ByNames) {
  const { state, now, limit, after = LAST_TASK_ID } = question;
  const names = namesOf(question);
  const recorded = knex.select('task_id').from('tasks').limit(limit);
  byNames(recorded, names, state, after);
  if (state === 'live') recorded.where('expires_at', '>', instant(now));
  // Few: the sweeper records them soon. Materialized, or Postgres may look for them in another index.
  const overdue = knex
    .select('task_id', 'sponsor_key', 'agent_id', 'audience')
    .from('tasks')
    .whereRaw("state = 'live' and ended_at is null")
    .where('expires_at', '<=', instant(now));
  const found =
    state !== 'expired'
      ? recorded
      : knex
          .withMaterialized('overdue', overdue)
          .select('task_id')
          .from(recorded.as('recorded'))
          .unionAll(
            knex.select('task_id').from('overdue').where(Object.fromEntries(names)).where('task_id', '<', after),
          )
          .orderBy('task_id', 'desc')
          .limit(limit);
  return knex
    .select(knex.raw(LISTED_COLUMNS))
    .from(found.as('found'))
    .joinRaw('cross join tasks t')
    .whereRaw('t.task_id = found.task_id')
    .orderBy('t.task_id', 'desc');
}

export function selectListedTask(knex: Knex, taskId: TaskId) {
  return knex.select(knex.raw(LISTED_COLUMNS)).from('tasks as t').where('t.task_id', taskId);
}

function namesOf({ sponsorKey, agentId, audience }: TasksQuestion): readonly Name[] {
  return [
    ...(sponsorKey === undefined ? [] : [['sponsor_key', storable('sponsor_key', sponsorKey)] as const]),
    ...(agentId === undefined ? [] : [['agent_id', agentId] as const]),
    ...(audience === undefined ? [] : [['audience', storable('audience', audience)] as const]),
  ];
}

/** @param now a task whose time was up by then is `expired`, even if its expiry is not recorded yet */
export function toListedTask(row: ListedTaskRow, now: Instant): ListedTask {
  const isOverdue = row.state === 'live' && row.expires_at <= now;
  return {
    ...toTask(row),
    state: isOverdue ? { kind: 'expired', at: row.expires_at } : toTaskState(row),
    displayName: row.display_name ?? undefined,
    renewals: row.renewals ?? 0,
  };
}
