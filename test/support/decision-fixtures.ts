/** People, tasks, facts and effects for the tests of decisions. */

import type { Effect, EndedTask, EndedTasks } from '../../application/decisions/effect.ts';
import type { AuthorizationSelection, LiveTasks } from '../../application/decisions/fact.ts';
import type { Lock } from '../../application/decisions/lock.ts';
import { makeTaskId, type SponsorKey, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import type { RevocationReason } from '../../domain/tasks/task.ts';
import { NOON } from './domain-fixtures.ts';

export const ADA = 'ada@example.org' as SponsorKey;
export const GRACE = 'grace@example.org' as SponsorKey;
export const SOURCES = ['admin', 'scim', 'self', 'ssf'] as const;
const taskIdOf = (last: string) => makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${last}`);
/** Four task ids, in the order of creation. */
export const TASKS = [taskIdOf('A'), taskIdOf('B'), taskIdOf('C'), taskIdOf('D')] as const;
export const NO_TASKS = liveTasks([]);

/** @param sponsors the people of the selected tasks */
export function liveTasks(
  selected: readonly TaskId[],
  delegated: readonly TaskId[] = [],
  sponsors = ['ada'],
): LiveTasks {
  const taskIds = [...selected, ...delegated].sort();
  return { taskIds, delegated: new Set(delegated), sponsors: selected.length === 0 ? [] : sponsors };
}

/** Its times differ from those of every new block in the tests. */
export function aStatedBlock(changes: Partial<StatedBlock> = {}): StatedBlock {
  const [blockedAt, statedAt] = [instantFromMicros(NOON + 11), instantFromMicros(NOON + 7)];
  return { sponsorKey: ADA, source: 'ssf', kind: 'deleted', blockedAt, statedAt, ...changes };
}

/** Tasks that are revoked at this time, each for its reason. */
export function revoked(at: Instant, ...tasks: readonly (readonly [TaskId, RevocationReason])[]): EndedTasks {
  const all = tasks.map(([taskId, reason]): EndedTask => {
    return { taskId, end: { state: 'revoked', record: { event: 'task.revoked', reason } } };
  });
  return { tasks: all, at, renewalsEvent: 'token.refreshed', withdrawnEvent: 'approval.withdrawn' };
}

/** The effects of these ends: the changed rows, and the records of the ends after the given entries. */
export function endEffects(ended: EndedTasks, ...entries: readonly LedgerEntry[]): readonly Effect[] {
  return [
    { effect: 'end_tasks', ...ended },
    { effect: 'append', entries, ended },
  ];
}

/** The authorizations of the selection end. */
export function gone(selection: AuthorizationSelection, reason: RevocationReason): Effect {
  return { effect: 'void_authorizations', selection, reason };
}

/** The same, of a person. */
export function goneOf(sponsorKey: SponsorKey, reason: RevocationReason): Effect {
  return gone({ kind: 'sponsor', sponsorKey }, reason);
}

/** `endEffects`, and the end of the authorizations of the person whose tasks were selected. */
export function endsOf(
  sponsorKey: SponsorKey,
  reason: RevocationReason,
  ended: EndedTasks,
  ...entries: readonly LedgerEntry[]
): readonly Effect[] {
  const [tasks, ...records] = endEffects(ended, ...entries) as [Effect, ...Effect[]];
  return [tasks, goneOf(sponsorKey, reason), ...records];
}

export function signalRecord(sponsor: string | undefined, at: Instant, reason: string): LedgerEntry {
  return { at, event: 'sponsor.signal', sponsor, decision: 'allow', reason };
}

/** Each lock as `mode class key`, in the order in which the decision names its locks. */
export function lockNames(locks: readonly Lock[]): readonly string[] {
  return locks.map(({ mode, on, key }) => `${mode} ${on} ${key}`);
}
