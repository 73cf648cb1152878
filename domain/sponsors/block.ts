/**
 * Blocks of a human (specification "Sponsor block"; decisions "Blocks"). Each source has at most one block of a human and
 * places, restates and lifts only that one. The service refuses the human until no block is left.
 */

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
 * Whether a return was stated before the block that it would lift: signals arrive in any order, and an outdated return
 * lifts nothing. A transmitter states whole seconds; within one second the return counts as the later statement.
 */
export function isOutdated(returnStatedAt: Instant, blockStatedAt: Instant): boolean {
  return returnStatedAt < blockStatedAt;
}

type BlockDenial = Extract<DenialReason, 'sponsor_disabled' | 'sponsor_not_found'>;

/** The reason that a block of this kind refuses a human with. */
export function blockDenial(kind: BlockKind): BlockDenial {
  return kind === 'disabled' ? 'sponsor_disabled' : 'sponsor_not_found';
}

/**
 * The reason that a human is refused with: that of the block placed first. `undefined` where there is no block.
 *
 * @param blocks of one person, oldest first
 */
export function denialOf(blocks: readonly SponsorBlock[]): BlockDenial | undefined {
  return blocks[0] && blockDenial(blocks[0].kind);
}
