/** Converts between tasks and grants, and rows of the `tasks` and `task_grants` tables. */

import type { TaskSelection } from '../../../application/decisions/fact.ts';
import type { OwnTask, OwnTasksQuestion } from '../../../application/ports/queries.ts';
import type { AgentId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { endReasonOf } from '../../../domain/tasks/lifetime.ts';
import type { StatusReference } from '../../../domain/tasks/status-list.ts';
import type { Grant, Revocation, RevocationReason, Task, TaskState } from '../../../domain/tasks/task.ts';
import type { TokenFacts } from '../../../domain/tasks/task-token.ts';
import { type BindInstant, type Bound, LATEST, readScope, scopeColumn, storable, storableOrNull } from './column.ts';

interface TaskStateRow {
  readonly state: TaskState['kind'];
  readonly ended_at: Instant | null;
  readonly end_reason: RevocationReason | null;
}

export interface TaskRow extends TaskStateRow {
  readonly task_id: TaskId;
  readonly agent_id: AgentId;
  readonly sponsor_key: SponsorKey;
  readonly sponsor: string;
  readonly session_id: string | null;
  readonly parent_task_id: TaskId | null;
  readonly audience: string;
  readonly scope: string;
  readonly held_scope: string | null;
  readonly asked_scope: string | null;
  readonly delegation_depth: number;
  readonly created_at: Instant;
  readonly expires_at: Instant;
  readonly status_list: string | null;
  readonly status_index: number | null;
}

/** A grant joined with its task. */
export interface GrantRow extends TaskRow {
  readonly grant_scope: string;
  readonly renewals: number;
  readonly revoked_at: Instant | null;
}

export interface TokenFactsRow extends TaskStateRow {
  readonly expires_at: Instant;
  readonly enabled: boolean | number | null;
  readonly token_revoked_at: Instant | null;
  readonly token_reason: RevocationReason | null;
}

/** The columns that an exchange writes. The others are set when the task ends. */
export const insertedTaskColumns = [
  'task_id',
  'agent_id',
  'sponsor_key',
  'sponsor',
  'session_id',
  'parent_task_id',
  'audience',
  'scope',
  'held_scope',
  'asked_scope',
  'delegation_depth',
  'created_at',
  'expires_at',
  'status_list',
  'status_index',
] as const satisfies readonly (keyof TaskRow)[];

export const taskColumns = [
  ...insertedTaskColumns,
  'state',
  'ended_at',
  'end_reason',
] as const satisfies readonly (keyof TaskRow)[];

/** The columns of a grant joined with its task, for a `select` with the aliases `g` and `t`. */
export const GRANT_COLUMNS = [
  ...taskColumns.map((column) => `t.${column}`),
  'g.scope as grant_scope',
  'g.renewals',
  'g.revoked_at',
].join(', ');

/** The columns of TokenFactsRow, for a `select` with the aliases `t` (task), `a` (agent) and `r` (revoked token). */
export const TOKEN_FACTS_COLUMNS =
  't.state, t.ended_at, t.end_reason, t.expires_at, a.enabled, r.revoked_at as token_revoked_at, r.reason as token_reason';

export function toGrant(row: GrantRow): Grant {
  return {
    task: toTask(row),
    taskState: toTaskState(row),
    revokedAt: row.revoked_at ?? undefined,
    scope: readScope(row.grant_scope),
    renewals: row.renewals,
  };
}

export function toTokenFacts(row: TokenFactsRow): TokenFacts {
  return {
    tokenRevocation: toRevocation(row.token_revoked_at, row.token_reason),
    taskState: toTaskState(row),
    taskExpiresAt: row.expires_at,
    agentEnabled: Boolean(row.enabled),
  };
}

export function toTask(row: TaskRow): Task {
  return {
    taskId: row.task_id,
    agentId: row.agent_id,
    sponsorKey: row.sponsor_key,
    sponsor: row.sponsor,
    sessionId: row.session_id ?? undefined,
    parentTaskId: row.parent_task_id ?? undefined,
    audience: row.audience,
    scope: readScope(row.scope),
    ...toOrigin(row),
    delegationDepth: row.delegation_depth,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    status: toStatusReference(row),
  };
}

function toOrigin({ held_scope: held, asked_scope: asked }: TaskRow): Pick<Task, 'origin'> {
  return held === null || asked === null ? {} : { origin: { held: readScope(held), asked: readScope(asked) } };
}

function toStatusReference({ status_list: listId, status_index: index }: TaskRow): StatusReference | undefined {
  return listId === null || index === null ? undefined : { listId, index };
}

export function toTaskState(row: TaskStateRow): TaskState {
  if (row.state === 'live') return { kind: 'live' };
  const revocation = toRevocation(row.ended_at, row.end_reason);
  if (row.state === 'revoked' && revocation !== undefined) return { kind: 'revoked', ...revocation };
  if (row.state === 'expired' && row.ended_at !== null) return { kind: 'expired', at: row.ended_at };
  throw new Error('a task is stored without its end');
}

function toRevocation(at: Instant | null, reason: RevocationReason | null): Revocation | undefined {
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
    task.parentTaskId ?? null,
    storable('audience', task.audience),
    scopeColumn(task.scope),
    task.origin === undefined ? null : scopeColumn(task.origin.held),
    task.origin === undefined ? null : scopeColumn(task.origin.asked),
    task.delegationDepth,
    instant(task.createdAt),
    instant(task.expiresAt),
    task.status?.listId ?? null,
    task.status?.index ?? null,
  ];
}

type SelectionColumn = 'task_id' | 'agent_id' | 'sponsor_key' | 'session_id' | 'sponsor';

interface SelectionKey {
  /** The column that the selected tasks share; of `sponsor_agent` and `session_or_none` there are two. */
  readonly by: SelectionColumn | 'sponsor_agent' | 'session_or_none';
  /** The values of these columns. */
  readonly keys: readonly [string, ...string[]];
}

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

export interface OwnTaskRow extends Pick<TaskRow, 'task_id' | 'agent_id' | 'audience' | 'scope' | 'created_at'> {
  readonly state: TaskState['kind'];
  readonly expires_at: Instant;
  readonly end_reason: RevocationReason | null;
  /** When the task ended, or its time was up; `null` for a live task. */
  readonly over_at: Instant | null;
  readonly display_name: string | null;
  readonly renewals: number | null;
  readonly renewed_at: Instant | null;
}

/** Sorts after every task id, as the bound of the first page. */
export const LAST_TASK_ID = '~';

/**
 * A page of a person's tasks, in one statement, so that a task that ends meanwhile is read once. Each part reads at most
 * `limit` entries of its index, except the live tasks, which are sorted.
 *
 * @param bind adds the value of the next parameter, and returns its placeholder
 */
export function selectOwnTasks(
  sponsorKey: SponsorKey,
  { after, limit, now }: OwnTasksQuestion,
  bind: (value: Bound) => string,
  instant: BindInstant,
): string {
  const key = () => bind(storable('sponsor_key', sponsorKey));
  const isAmongEnded = after?.endedAt !== undefined;
  const end = () => `(${bind(instant(after?.endedAt ?? LATEST))}, ${bind(isAmongEnded ? after.taskId : LAST_TASK_ID)})`;
  // No task id sorts before the empty text: after a page with ended tasks, no live task is read.
  const liveBefore = () => bind(isAmongEnded ? '' : (after?.taskId ?? LAST_TASK_ID));
  const columns = 'task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason';
  // Of an expression (`|| ''`) the planner reads no index, which might be that of all tasks.
  return `select ${columns}, over_at,
      (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
      (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
      (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at
    from (
      select * from (
        select ${columns}, ended_at as over_at from tasks
          where sponsor_key = ${key()} and state = 'live' and expires_at > ${bind(instant(now))}
            and task_id || '' < ${liveBefore()}
          order by task_id || '' desc limit ${bind(limit)}
      ) live
      union all
      select ${columns}, expires_at from tasks
        where sponsor_key = ${key()} and state = 'live' and expires_at <= ${bind(instant(now))}
          and (expires_at, task_id) < ${end()}
      union all
      select * from (
        select ${columns}, ended_at from tasks
          where sponsor_key = ${key()} and ended_at is not null and (ended_at, task_id) < ${end()}
          order by ended_at desc, task_id desc limit ${bind(limit)}
      ) ended
    ) found
    order by over_at desc nulls first, task_id desc limit ${bind(limit)}`;
}

export function toOwnTask(row: OwnTaskRow): OwnTask {
  // A task that is over may have no recorded end: the sweeper records its expiry later.
  const isOverdue = row.state === 'live' && row.over_at !== null;
  const { over_at: ended_at, end_reason } = row;
  const state = toTaskState({ state: isOverdue ? 'expired' : row.state, ended_at, end_reason });
  return {
    taskId: row.task_id,
    agentId: row.agent_id,
    displayName: row.display_name ?? undefined,
    audience: row.audience,
    scope: readScope(row.scope),
    startedAt: row.created_at,
    expiresAt: row.expires_at,
    state: state.kind,
    endedAt: row.over_at ?? undefined,
    reason: endReasonOf(state),
    renewals: row.renewals ?? 0,
    renewedAt: row.renewed_at ?? undefined,
  };
}
