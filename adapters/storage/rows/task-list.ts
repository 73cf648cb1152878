/** Builds the lists of tasks for operators, newest first. Each reads few more rows than its page. */

import type { Knex } from 'knex';
import type {
  ListedTask,
  LiveTaskCount,
  LiveTasksQuestion,
  ShownTask,
  TaskFilters,
  TasksPage,
  TasksQuestion,
} from '../../../application/ports/queries.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { stateAt } from '../../../domain/tasks/lifetime.ts';
import type { TaskState } from '../../../domain/tasks/task.ts';
import { type BindInstant, readScope, storable } from './column.ts';
import { LAST_TASK_ID, type TaskRow, taskColumns, toTask, toTaskState } from './task-row.ts';

export interface ListedTaskRow extends TaskRow {
  readonly matches?: number;
  readonly is_last_read?: number;
  readonly display_name: string | null;
  readonly renewals: number | null;
}

export interface ShownTaskRow extends ListedTaskRow {
  readonly grant_scope: string;
  readonly renewed_at: Instant | null;
}

const LISTED_COLUMNS = [
  ...taskColumns.map((column) => `t.${column}`),
  '(select a.display_name from agents a where a.agent_id = t.agent_id) as display_name',
  '(select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals',
].join(', ');

/** A column and the value that it must have. */
type Name = readonly [column: 'sponsor_key' | 'agent_id' | 'audience', value: string];

/** How an engine reads a list along an index that has its order. */
export interface TaskListReading {
  /** Adds the first name, the state, and the start of the page. @returns the columns that give the order, all descending */
  start(
    select: Knex.QueryBuilder,
    first: Name | undefined,
    state: TaskState['kind'],
    before: string,
  ): readonly (readonly [name: string, expression: string])[];
}

/** One statement, so that a task that ends meanwhile is read once. */
export function selectListedTasks(
  knex: Knex,
  question: TasksQuestion,
  instant: BindInstant,
  { start }: TaskListReading,
) {
  const { state, now, limit, after = LAST_TASK_ID } = question;
  const names = namesOf(question);
  const recorded = selectRecorded(knex, question, instant, { start });
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
          .select('task_id', 'matches', 'is_last_read')
          .from(recorded.as('recorded'))
          .unionAll(
            knex
              .select('task_id', knex.raw('1, 0'))
              .from('overdue')
              .where(Object.fromEntries(names))
              .where('task_id', '<', after),
          )
          .orderBy('task_id', 'desc')
          .limit(limit);
  return knex
    .select(knex.raw(`${LISTED_COLUMNS}, found.matches, found.is_last_read`))
    .from(found.as('found'))
    .joinRaw('cross join tasks t')
    .whereRaw('t.task_id = found.task_id')
    .orderBy('t.task_id', 'desc');
}

/** The ids of the tasks in a recorded state. If other names filter them, the last task read is among them in any case. */
function selectRecorded(
  knex: Knex,
  { state, now, limit, mostRead, after, ...filters }: TasksQuestion,
  instant: BindInstant,
  { start }: TaskListReading,
) {
  const names = namesOf(filters);
  const first = names.find(([column]) => column !== 'audience');
  const others = names.filter((name) => name !== first);
  const read = knex.select('task_id').from('tasks');
  const order = start(read, first, state, after ?? LAST_TASK_ID);
  const ordering = (of: (column: readonly [name: string, expression: string]) => string) =>
    order.map((column) => `${of(column)} desc`).join(', ');
  read.orderByRaw(ordering(([, expression]) => expression));
  if (state === 'live') read.where('expires_at', '>', instant(now));
  if (others.length === 0) return read.select(knex.raw('1 as matches, 0 as is_last_read')).limit(limit);
  read
    .select(...others.map(([column]) => column))
    .select(knex.raw(order.map(([name, expression]) => `${expression} as by_${name}`).join(', ')))
    .select(knex.raw(`row_number() over (order by ${ordering(([, expression]) => expression)}) as nth`))
    .limit(mostRead);
  const matches = others.map(([column]) => `${column} = ?`).join(' and ');
  const values = others.map(([, value]) => value);
  return knex
    .select('task_id')
    .select(
      knex.raw(
        `case when ${matches} then 1 else 0 end as matches, case when nth = ? then 1 else 0 end as is_last_read`,
        [...values, mostRead],
      ),
    )
    .from(read.as('read'))
    .whereRaw(`((${matches}) or nth = ?)`, [...values, mostRead])
    .orderByRaw(ordering(([name]) => `by_${name}`))
    .limit(limit);
}

/** A task has one grant. */
export function selectListedTask(knex: Knex, taskId: TaskId) {
  return knex
    .select(knex.raw(`${LISTED_COLUMNS}, g.scope as grant_scope, g.renewed_at`))
    .from('tasks as t')
    .joinRaw('join task_grants g on g.task_id = t.task_id')
    .where('t.task_id', taskId);
}

export interface LiveTaskCountRow {
  readonly tasks: number;
  readonly last_expiry: Instant | null;
  readonly longest_token_ttl: number | null;
}

export function countLiveTasks(knex: Knex, { of, now, most }: LiveTasksQuestion, instant: BindInstant) {
  const live = knex
    .select('t.expires_at', 'a.max_token_ttl')
    .from('tasks as t')
    .leftJoin('agents as a', 'a.agent_id', 't.agent_id')
    .whereRaw("t.state = 'live'")
    .where('t.expires_at', '>', instant(now))
    .limit(most);
  // Only the count of all may use the index by expiry. For one agent or person Postgres might choose it, and read all live tasks.
  if (of === undefined) live.whereRaw('t.ended_at is null');
  if (of !== undefined && 'agentId' in of) live.where('t.agent_id', of.agentId);
  if (of !== undefined && 'sponsorKey' in of) live.where('t.sponsor_key', storable('sponsor_key', of.sponsorKey));
  return knex
    .select(knex.raw('count(*) as tasks, max(expires_at) as last_expiry, max(max_token_ttl) as longest_token_ttl'))
    .from(live.as('counted'));
}

export function toLiveTaskCount(row: LiveTaskCountRow | undefined): LiveTaskCount {
  return {
    tasks: row?.tasks ?? 0,
    lastExpiry: row?.last_expiry ?? undefined,
    longestTokenTtl: row?.longest_token_ttl ?? undefined,
  };
}

function namesOf({ sponsorKey, agentId, audience }: Omit<TaskFilters, 'state'>): readonly Name[] {
  return [
    ...(sponsorKey === undefined ? [] : [['sponsor_key', storable('sponsor_key', sponsorKey)] as const]),
    ...(agentId === undefined ? [] : [['agent_id', agentId] as const]),
    ...(audience === undefined ? [] : [['audience', storable('audience', audience)] as const]),
  ];
}

/** Tasks past the last one read may be incomplete: the next page has them. */
export function toTasksPage(rows: readonly ListedTaskRow[], now: Instant): TasksPage {
  const end = rows.findIndex(({ is_last_read }) => is_last_read === 1);
  const read = end === -1 ? rows : rows.slice(0, end + 1);
  return {
    tasks: read.filter(({ matches }) => matches === 1).map((row) => toListedTask(row, now)),
    readUpTo: rows[end]?.task_id,
  };
}

/** @param now of the state (`stateAt`) */
export function toListedTask(row: ListedTaskRow, now: Instant): ListedTask {
  const task = toTask(row);
  return {
    ...task,
    state: stateAt(toTaskState(row), task, now),
    displayName: row.display_name ?? undefined,
    renewals: row.renewals ?? 0,
  };
}

/** @param now as of {@link toListedTask} */
export function toShownTask(row: ShownTaskRow, now: Instant): ShownTask {
  return {
    ...toListedTask(row, now),
    grantScope: readScope(row.grant_scope),
    renewedAt: row.renewed_at ?? undefined,
  };
}
