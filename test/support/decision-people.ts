/** Facts, records and short forms for tests of the judges about people and agents. */

import type { Decision } from '../../application/decisions/decision.ts';
import type { Effect } from '../../application/decisions/effect.ts';
import type { LiveTask, LiveTasks } from '../../application/decisions/fact.ts';
import { makeTaskId, type SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { formatScope } from '../../domain/scope.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import type { Revocation, RevocationReason, Task } from '../../domain/tasks/task.ts';
import { agentIdOf, NOON } from './domain-fixtures.ts';

export const ADA = 'ada@example.org' as SponsorKey;
export const GRACE = 'grace@example.org' as SponsorKey;
export const SOURCES = ['admin', 'scim', 'ssf'] as const;
export const NO_TASKS: LiveTasks = { selected: [], delegated: [] };

/** @param nth tells tasks apart; a task with a higher number was created later */
export function aLiveTask(nth: number, changes: Partial<LiveTask> = {}): LiveTask {
  return {
    taskId: makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${nth}`),
    agentId: agentIdOf(`agent-${nth}`),
    sponsor: `sub-${nth}`,
    audience: `https://jira-${nth}.example`,
    scope: 'jira:read jira:comment',
    delegationDepth: nth,
    createdAt: instantFromMicros(NOON + nth),
    unrecorded: 0,
    ...changes,
  };
}

/** Its four values differ from those that a judge would give a new block. */
export function aStatedBlock(changes: Partial<StatedBlock> = {}): StatedBlock {
  const [blockedAt, statedAt] = [instantFromMicros(NOON + 11), instantFromMicros(NOON + 7)];
  return { sponsorKey: ADA, source: 'ssf', kind: 'deleted', blockedAt, statedAt, ...changes };
}

/** The records of a task that is revoked: a summary of its renewals, if any has no record of its own, and the end. */
export function revocationOf(task: Omit<LiveTask, 'createdAt'>, at: Instant, reason: RevocationReason) {
  const { taskId, agentId, sponsor, audience, scope, delegationDepth, unrecorded } = task;
  const about = { at, taskId, agentId, sponsor, audience, scope, delegationDepth, decision: 'allow' } as const;
  const summary: LedgerEntry = { ...about, event: 'token.refreshed', count: unrecorded };
  const end: LedgerEntry = { ...about, event: 'task.revoked', reason };
  return unrecorded === 0 ? [end] : [summary, end];
}

/** The same records for a stored task. @param unrecorded its renewals without their own record */
export function endRecords(task: Task, { at, reason }: Revocation, unrecorded = 0): readonly LedgerEntry[] {
  return revocationOf({ ...task, scope: formatScope(task.scope), unrecorded }, at, reason);
}

export function endOf(tasks: readonly LiveTask[], at: Instant, reason: RevocationReason): Effect {
  return { effect: 'end_tasks', taskIds: tasks.map(({ taskId }) => taskId), at, end: { state: 'revoked', reason } };
}

export function signalRecord(sponsor: string | undefined, at: Instant, reason: string): LedgerEntry {
  return { at, event: 'sponsor.signal', sponsor, decision: 'allow', reason };
}

/** Each lock as mode, class and key, in the order in which the decision names them. */
export function locksOf<Input>(decision: Decision<Input, unknown>, input: Input): readonly string[] {
  return decision.locks(input).map(({ mode, on, key }) => `${mode} ${on} ${key}`);
}
