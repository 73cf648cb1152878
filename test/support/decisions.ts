/** What the tests of decisions share: facts with a non-default value in every field, and locks as text. */

import type { LiveTask } from '../../application/decisions/fact.ts';
import type { Lock } from '../../application/decisions/lock.ts';
import { makeTaskId, type SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import { agentIdOf, NOON } from './domain-fixtures.ts';

/** `mode class key` of each lock, in the order of the decision. */
export function lockNames(locks: readonly Lock[]): readonly string[] {
  return locks.map(({ on, key, mode }) => `${mode} ${on} ${key}`);
}

export function aBlock(changes: Partial<StatedBlock> = {}): StatedBlock {
  return {
    sponsorKey: 'object-7' as SponsorKey,
    source: 'scim',
    kind: 'deleted',
    blockedAt: NOON,
    statedAt: instantFromMicros(NOON + 1),
    ...changes,
  };
}

export function aLiveTask(changes: Partial<LiveTask> = {}): LiveTask {
  return {
    taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEB'),
    agentId: agentIdOf('jira-triage'),
    sponsor: 'ada',
    audience: 'https://jira.example',
    scope: 'jira:read jira:comment',
    delegationDepth: 2,
    createdAt: NOON,
    unrecorded: 0,
    ...changes,
  };
}
