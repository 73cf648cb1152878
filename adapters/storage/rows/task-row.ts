/** Converts between tasks and grants, and rows of the `tasks` and `task_grants` tables. */

import type { TaskSelection } from '../../../application/decisions/fact.ts';
import type { AgentId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { StatusReference } from '../../../domain/tasks/status-list.ts';
import type { Grant, Revocation, RevocationReason, Task, TaskState } from '../../../domain/tasks/task.ts';
import type { TokenFacts } from '../../../domain/tasks/task-token.ts';
import { type BindInstant, type Bound, readScope, scopeColumn, storable, storableOrNull } from './column.ts';

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
    delegationDepth: row.delegation_depth,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    status: toStatusReference(row),
  };
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
    task.delegationDepth,
    instant(task.createdAt),
    instant(task.expiresAt),
    task.status?.listId ?? null,
    task.status?.index ?? null,
  ];
}

type SelectionColumn = 'task_id' | 'agent_id' | 'sponsor_key' | 'session_id' | 'sponsor';

/** The column that the selected tasks share, and its value. */
export function selectedBy(selection: TaskSelection): { readonly column: SelectionColumn; readonly key: string } {
  switch (selection.kind) {
    case 'task':
      return { column: 'task_id', key: selection.taskId };
    case 'agent':
      return { column: 'agent_id', key: selection.agentId };
    case 'sponsor':
      return { column: 'sponsor_key', key: storable('sponsor_key', selection.sponsorKey) };
    case 'session':
      return { column: 'session_id', key: storable('session_id', selection.sessionId) };
    case 'subject':
      return { column: 'sponsor', key: storable('sponsor', selection.subject) };
  }
}
