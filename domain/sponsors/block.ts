/** A human who will not be acted for (specification "Sponsor block"; decisions "Blocks"). */

import type { DenialReason } from '../denial.ts';
import type { SponsorKey } from '../identifiers.ts';
import type { Instant } from '../instant.ts';

export type BlockSource = 'admin' | 'scim' | 'ssf';
export type BlockKind = 'disabled' | 'deleted';

export interface SponsorBlock {
  readonly sponsorKey: SponsorKey;
  readonly source: BlockSource;
  readonly kind: BlockKind;
  readonly blockedAt: Instant;
}

/**
 * Whether somebody's return was stated before their block was, and so leaves it standing: signals arrive in any order.
 * A transmitter states whole seconds; within one, the return is taken to be the later.
 */
export function isOutdated(returnStatedAt: Instant, blockStatedAt: Instant): boolean {
  return returnStatedAt < blockStatedAt;
}

/** The reason a listed human is refused with. */
export function blockDenial(kind: BlockKind): Extract<DenialReason, 'sponsor_disabled' | 'sponsor_not_found'> {
  return kind === 'disabled' ? 'sponsor_disabled' : 'sponsor_not_found';
}
