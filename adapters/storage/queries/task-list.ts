/** The lists of tasks for operators, newest first. Each reads few more rows than its page. */

import type { ListedTask, ShownTask, TaskFilters, TasksPage, TasksQuestion } from '../../../application/ports/tasks.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { stateAt } from '../../../domain/tasks/lifetime.ts';
import { differenceOfPurpose } from '../../../domain/tasks/purpose.ts';
import { differenceOfOrigin } from '../../../domain/tasks/scope-origin.ts';
import type { Dialect } from '../dialect.ts';
import { TASK_AUTHORIZATION, type TaskAuthorizationRow, toTaskAuthorization } from '../rows/authorization-row.ts';
import { readScope, storable } from '../rows/column.ts';
import { readRecords, recordsOfTask, sha256 } from '../rows/recorded.ts';
import { LAST_TASK_ID, type TaskRow, taskColumns, toTask, toTaskState } from '../rows/task-row.ts';
import type { Query } from './query.ts';

interface ListedTaskRow extends TaskRow {
  readonly matches?: number;
  readonly is_last_read?: number;
  readonly display_name: string | null;
  readonly renewals: number | null;
}

interface ShownTaskRow extends ListedTaskRow, TaskAuthorizationRow {
  readonly grant_scope: string;
  readonly renewed_at: Instant | null;
  readonly purpose: string | null;
  readonly salt: string | null;
  readonly records: string | null;
}

const COLUMNS = [
  ...taskColumns.map((column) => `t.${column}`),
  '(select a.display_name from agents a where a.agent_id = t.agent_id) as display_name',
  '(select max(g.renewals) from task_grants g where g.task_id = t.task_id) as renewals',
].join(', ');

type NameColumn = 'sponsor_key' | 'agent_id' | 'audience';

/** The columns of the names that filter the tasks, the most selective first. */
function namesOf({ sponsorKey, agentId, audience }: Omit<TaskFilters, 'state'>): readonly NameColumn[] {
  return [
    ...(sponsorKey === undefined ? [] : (['sponsor_key'] as const)),
    ...(agentId === undefined ? [] : (['agent_id'] as const)),
    ...(audience === undefined ? [] : (['audience'] as const)),
  ];
}

const having = (columns: readonly string[]) => columns.map((column) => `${column} = :${column}`);

/** The ids of the tasks in a recorded state. If other names filter them, the last task read is among them in any case. */
function selectRecorded(dialect: Dialect, { state, ...filters }: TasksQuestion): string {
  const names = namesOf(filters);
  const first = names.find((column) => column !== 'audience');
  const others = names.filter((column) => column !== first);
  const range = dialect.before(
    first === undefined ? { 'lower(state)': ':state' } : { [first]: `:${first}`, state: ':state' },
    { task_id: ':before' },
  );
  const conditions = [...range.conditions, ...(state === 'live' ? ['expires_at > :now'] : [])].join(' and ');
  const order = range.order.map((column) => `${column} desc`).join(', ');
  if (others.length === 0) {
    return `select task_id, 1 as matches, 0 as is_last_read from tasks where ${conditions} order by ${order} limit :limit`;
  }
  const matches = having(others).join(' and ');
  // Sorted by the columns of the index, not by `nth`: otherwise Postgres would read all rows to sort them.
  const named = range.order.map((column, nth) => `${column} as by_${nth}`).join(', ');
  const byName = range.order.map((_, nth) => `by_${nth} desc`).join(', ');
  return `
        select task_id, case when ${matches} then 1 else 0 end as matches,
            case when nth = :most_read then 1 else 0 end as is_last_read
          from (
            select task_id, ${others.join(', ')}, ${named}, row_number() over (order by ${order}) as nth
              from tasks where ${conditions} order by ${order} limit :most_read
          ) counted
          where (${matches}) or nth = :most_read
          order by ${byName} limit :limit`;
}

/** In one statement, so that a task that ends meanwhile is read once. */
export const listTasks: Query<TasksQuestion, TasksPage> = {
  plan: 'in_order',
  text(dialect, question) {
    const recorded = selectRecorded(dialect, question);
    // Few: the sweeper records them soon. Materialized, or Postgres may look for them in another index.
    const found =
      question.state !== 'expired'
        ? recorded
        : `with overdue as materialized (
          select task_id, sponsor_key, agent_id, audience from tasks
            where state = 'live' and ended_at is null and expires_at <= :now
        )
        select task_id, matches, is_last_read from (${recorded}) recorded
        union all
        select task_id, 1, 0 from overdue where ${[...having(namesOf(question)), 'task_id < :before'].join(' and ')}
        order by task_id desc limit :limit`;
    return `select ${COLUMNS}, found.matches, found.is_last_read
      from (${found}) found cross join tasks t where t.task_id = found.task_id
      order by t.task_id desc`;
  },
  values: ({ state, sponsorKey, agentId, audience, after = LAST_TASK_ID, now, limit, mostRead }, { instant }) => ({
    state,
    sponsor_key: sponsorKey === undefined ? undefined : storable('sponsor_key', sponsorKey),
    agent_id: agentId,
    audience: audience === undefined ? undefined : storable('audience', audience),
    before: after,
    now: instant(now),
    limit,
    most_read: mostRead,
  }),
  read: (rows: readonly ListedTaskRow[], { now }) => toTasksPage(rows, now),
};

/** Tasks past the last one read may be incomplete: the next page has them. */
function toTasksPage(rows: readonly ListedTaskRow[], now: Instant): TasksPage {
  const end = rows.findIndex(({ is_last_read }) => is_last_read === 1);
  const read = end === -1 ? rows : rows.slice(0, end + 1);
  return {
    tasks: read.filter(({ matches }) => matches === 1).map((row) => toListedTask(row, now)),
    readUpTo: rows[end]?.task_id,
  };
}

/** @param now of the state (`stateAt`) */
function toListedTask(row: ListedTaskRow, now: Instant): ListedTask {
  const task = toTask(row);
  return {
    ...task,
    state: stateAt(toTaskState(row), task, now),
    displayName: row.display_name ?? undefined,
    renewals: row.renewals ?? 0,
  };
}

/** A task has one grant. */
export const findListedTask: Query<{ readonly taskId: TaskId; readonly now: Instant }, ShownTask | undefined> = {
  name: 'find_listed_task',
  plan: 'by_index',
  text: (dialect) => `select ${COLUMNS}, g.scope as grant_scope, g.renewed_at, p.purpose, p.salt,
      ${TASK_AUTHORIZATION}, ${recordsOfTask(dialect, 't')}
    from tasks t join task_grants g on g.task_id = t.task_id left join task_purposes p on p.task_id = t.task_id
      left join authorizations z on z.task_id = t.task_id
    where t.task_id = :task_id`,
  values: ({ taskId }) => ({ task_id: taskId }),
  read: ([row]: readonly ShownTaskRow[], { now }) =>
    row && {
      ...comparedTask(row, now),
      grantScope: readScope(row.grant_scope),
      renewedAt: row.renewed_at ?? undefined,
    },
};

/** Leaves out what the ledger has otherwise. */
function comparedTask(row: ShownTaskRow, now: Instant): ListedTask & Pick<ShownTask, 'purpose' | 'differences'> {
  const { purpose: words, salt } = row;
  const { origin, ...task } = toListedTask(row, now);
  const records = readRecords(row.records);
  const stated = words === null || salt === null ? undefined : { words, salt };
  const ofPurpose = stated && differenceOfPurpose(sha256, { ...task, ...stated }, records);
  const ofScope = origin && differenceOfOrigin({ ...task, origin }, records);
  return {
    ...task,
    ...(origin !== undefined && ofScope === undefined && { origin }),
    ...toTaskAuthorization(row),
    purpose: ofPurpose === undefined ? stated : undefined,
    differences: [ofPurpose, ofScope].filter((difference) => difference !== undefined),
  };
}
