/** What the tests of decisions share: facts with a non-default value in every field, and locks as text. */

import type { Lock } from '../../application/decisions/lock.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import { NOON } from './domain-fixtures.ts';

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
