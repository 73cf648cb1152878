/** Facts, records and short forms for tests of the judges about people and agents. */

import type { Decision } from '../../application/decisions/decision.ts';
import type { Effect, EndedTask, EndedTasks } from '../../application/decisions/effect.ts';
import type { LiveTasks } from '../../application/decisions/fact.ts';
import { makeTaskId, type SponsorKey, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { formatScope } from '../../domain/scope.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import type { Revocation, RevocationReason, Task } from '../../domain/tasks/task.ts';
import { NOON } from './domain-fixtures.ts';

export const ADA = 'ada@example.org' as SponsorKey;
export const GRACE = 'grace@example.org' as SponsorKey;
export const SOURCES = ['admin', 'scim', 'ssf'] as const;
const taskIdOf = (last: string) => makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${last}`);
/** In the order of their creation. */
export const TASKS = [taskIdOf('A'), taskIdOf('B'), taskIdOf('C'), taskIdOf('D')] as const;
export const NO_TASKS = liveTasks([]);

/** @param sponsors of the selected tasks */
export function liveTasks(
  selected: readonly TaskId[],
  delegated: readonly TaskId[] = [],
  sponsors = ['ada'],
): LiveTasks {
  const taskIds = [...selected, ...delegated].sort();
  return { taskIds, delegated: new Set(delegated), sponsors: selected.length === 0 ? [] : sponsors };
}

/** Placed and stated at times that no test gives a new block. */
export function aStatedBlock(changes: Partial<StatedBlock> = {}): StatedBlock {
  const [blockedAt, statedAt] = [instantFromMicros(NOON + 11), instantFromMicros(NOON + 7)];
  return { sponsorKey: ADA, source: 'ssf', kind: 'deleted', blockedAt, statedAt, ...changes };
}

/** Tasks that are revoked, each for its reason. */
export function revoked(at: Instant, ...tasks: readonly (readonly [TaskId, RevocationReason])[]): EndedTasks {
  const all = tasks.map(([taskId, reason]): EndedTask => {
    return { taskId, end: { state: 'revoked', record: { event: 'task.revoked', reason } } };
  });
  return { tasks: all, at, renewalsEvent: 'token.refreshed' };
}

/** The effects of such an end: the rows that change, and the records after the given entries. */
export function endEffects(ended: EndedTasks, ...entries: readonly LedgerEntry[]): readonly Effect[] {
  return [
    { effect: 'end_tasks', ...ended },
    { effect: 'append', entries, ended },
  ];
}

/** The records of a task that is revoked. @param unrecorded its renewals without their own record */
export function endRecords(task: Task, { at, reason }: Revocation, unrecorded = 0): readonly LedgerEntry[] {
  const { taskId, agentId, sponsor, audience, delegationDepth } = task;
  const scope = formatScope(task.scope);
  const about = { at, taskId, agentId, sponsor, audience, scope, delegationDepth, decision: 'allow' } as const;
  const summary: LedgerEntry = { ...about, event: 'token.refreshed', count: unrecorded };
  const end: LedgerEntry = { ...about, event: 'task.revoked', reason };
  return unrecorded === 0 ? [end] : [summary, end];
}

export function signalRecord(sponsor: string | undefined, at: Instant, reason: string): LedgerEntry {
  return { at, event: 'sponsor.signal', sponsor, decision: 'allow', reason };
}

/** Each lock as mode, class and key, in the order in which the decision names them. */
export function locksOf<Input>(decision: Decision<Input, unknown>, input: Input): readonly string[] {
  return decision.locks(input).map(({ mode, on, key }) => `${mode} ${on} ${key}`);
}
