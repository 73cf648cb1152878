/** Converts between tasks and grants, and rows of the `tasks` and `task_grants` tables. */

import type { TaskSelection } from '../../../application/decisions/fact.ts';
import type { AgentId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { formatScope } from '../../../domain/scope.ts';
import type { StatusReference } from '../../../domain/tasks/status-list.ts';
import {
  type Delegator,
  type Grant,
  parentOf,
  type Revocation,
  type RevocationReason,
  type Task,
  type TaskState,
} from '../../../domain/tasks/task.ts';
import type { TaskTerms } from '../../../domain/tasks/token-of-task.ts';
import { columnsOf, tables } from '../tables.ts';
import { type BindInstant, type Bound, type ReadRow, readScope, storable, storableOrNull } from './column.ts';

export interface TaskRow extends ReadRow<typeof tables.tasks> {
  readonly task_id: TaskId;
  readonly agent_id: AgentId;
  readonly sponsor_key: SponsorKey;
  readonly parent_task_id: TaskId | null;
  readonly state: TaskState['kind'];
  readonly end_reason: RevocationReason | null;
}

export type TaskStateRow = Pick<TaskRow, 'state' | 'ended_at' | 'end_reason'>;

const endColumns: readonly (keyof TaskRow)[] = ['state', 'ended_at', 'end_reason'];

/** The columns that an exchange writes. The others are set when the task ends. */
export const insertedTaskColumns = columnsOf(tables.tasks).filter((column) => !endColumns.includes(column));

export const taskColumns = [...insertedTaskColumns, ...endColumns];

/** The columns that the tokens of a task repeat. */
export const termsColumns = [
  'task_id',
  'agent_id',
  'sponsor',
  'delegated_by',
  'audience',
  'scope',
  'expires_at',
  'status_list',
  'status_index',
] as const satisfies readonly (keyof TaskRow)[];

export type TermsRow = Pick<TaskRow, (typeof termsColumns)[number]>;

export function toTerms(row: TermsRow): TaskTerms {
  return {
    taskId: row.task_id,
    agentId: row.agent_id,
    sponsor: row.sponsor,
    delegatedBy: row.delegated_by === null ? [] : readDelegators(row.delegated_by),
    audience: row.audience,
    scope: readScope(row.scope),
    expiresAt: row.expires_at,
    status: toStatusReference(row),
  };
}

export function toTask(row: TaskRow): Task {
  return {
    ...toTerms(row),
    sponsorKey: row.sponsor_key,
    sessionId: row.session_id ?? undefined,
    ...toOrigin(row),
    delegationDepth: row.delegation_depth,
    createdAt: row.created_at,
  };
}

/** The nearest first: `[[task_id, agent_id, instance or null]]`. */
function delegatorsColumn(delegators: readonly Delegator[]): string {
  return JSON.stringify(delegators.map(({ taskId, agentId, instance = null }) => [taskId, agentId, instance]));
}

function readDelegators(column: string): readonly Delegator[] {
  const rows: readonly [TaskId, AgentId, string | null][] = JSON.parse(column);
  return rows.map(([taskId, agentId, instance]) => ({ taskId, agentId, instance: instance ?? undefined }));
}

function toOrigin({ held_scope: held, asked_scope: asked }: TaskRow): Pick<Task, 'origin'> {
  return held === null || asked === null ? {} : { origin: { held: readScope(held), asked: readScope(asked) } };
}

function toStatusReference({ status_list: listId, status_index: index }: TermsRow): StatusReference | undefined {
  return listId === null || index === null ? undefined : { listId, index };
}

export function toTaskState(row: TaskStateRow): TaskState {
  if (row.state === 'live') return { kind: 'live' };
  const revocation = toRevocation(row.ended_at, row.end_reason);
  if (row.state === 'revoked' && revocation !== undefined) return { kind: 'revoked', ...revocation };
  if (row.state === 'expired' && row.ended_at !== null) return { kind: 'expired', at: row.ended_at };
  throw new Error('a task is stored without its end');
}

export function toRevocation(at: Instant | null, reason: RevocationReason | null): Revocation | undefined {
  return at === null || reason === null ? undefined : { at, reason };
}

/** The values of a task in the order of `insertedTaskColumns`. */
export function taskValues(task: Task, instant: BindInstant): readonly Bound[] {
  return [
    task.taskId,
    task.agentId,
    storable('sponsor_key', task.sponsorKey),
    storable('sponsor', task.sponsor),
    storableOrNull('session_id', task.sessionId),
    parentOf(task) ?? null,
    task.delegatedBy.length === 0 ? null : delegatorsColumn(task.delegatedBy),
    storable('audience', task.audience),
    formatScope(task.scope),
    task.origin === undefined ? null : formatScope(task.origin.held),
    task.origin === undefined ? null : formatScope(task.origin.asked),
    task.delegationDepth,
    instant(task.createdAt),
    instant(task.expiresAt),
    task.status?.listId ?? null,
    task.status?.index ?? null,
  ];
}

/** Nothing if the grant does not rotate. */
export function toRotation({
  rotation_hash: current,
  previous_hash: previous,
}: Pick<ReadRow<typeof tables.task_grants>, 'rotation_hash' | 'previous_hash'>): Pick<Grant, 'rotation'> {
  return current === null ? {} : { rotation: { current, previous: previous ?? undefined } };
}

type SelectionColumn = 'task_id' | 'agent_id' | 'sponsor_key' | 'session_id' | 'sponsor';

interface SelectionKey {
  /** The column that the selected tasks share; of `sponsor_agent` and `session_or_none` there are two. */
  readonly by: SelectionColumn | 'sponsor_agent' | 'session_or_none';
  /** The values of these columns. */
  readonly keys: readonly [string, ...string[]];
}

/** The kind `sponsor` selects by the column `sponsor_key`. The column `sponsor` holds the `sub`: the kind `subject`. */
export function selectedBy(selection: TaskSelection): SelectionKey {
  switch (selection.kind) {
    case 'task':
      return { by: 'task_id', keys: [selection.taskId] };
    case 'agent':
      return { by: 'agent_id', keys: [selection.agentId] };
    case 'sponsor':
      return { by: 'sponsor_key', keys: [storable('sponsor_key', selection.sponsorKey)] };
    case 'sponsor_agent':
      return { by: 'sponsor_agent', keys: [storable('sponsor_key', selection.sponsorKey), selection.agentId] };
    case 'session':
      return { by: 'session_id', keys: [storable('session_id', selection.sessionId)] };
    case 'session_or_none': {
      const { sessionId, subject } = selection;
      return { by: 'session_or_none', keys: [storable('session_id', sessionId), storable('sponsor', subject)] };
    }
    case 'subject':
      return { by: 'sponsor', keys: [storable('sponsor', selection.subject)] };
  }
}

/** Sorts after every task id, as the bound of the first page. */
export const LAST_TASK_ID = '~';
