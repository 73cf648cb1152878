/**
 * Blocks of a human (specification "Sponsor block"; supplement "Blocks, poll mode, health"). Each source has at most
 * one block of a human and places, restates and lifts only that one. The service refuses the human until no block is
 * left.
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

export interface StatedBlock extends SponsorBlock {
  /** The latest statement of its source: the `iat` of a security event, else `blockedAt`. */
  readonly statedAt: Instant;
}

/** Sorts a person's blocks: the one placed first comes first, and the source decides between two of one instant. */
export function oldestFirst(one: SponsorBlock, other: SponsorBlock): number {
  if (one.blockedAt !== other.blockedAt) return one.blockedAt - other.blockedAt;
  return one.source < other.source ? -1 : 1;
}

/**
 * Whether a return (account-enabled) was stated before the block that it would lift. Signals arrive in any order, and
 * an outdated return lifts nothing. Transmitters state whole seconds; within one second the return counts as later.
 */
export function isOutdated(returnStatedAt: Instant, blockStatedAt: Instant): boolean {
  return returnStatedAt < blockStatedAt;
}

type BlockDenial = Extract<DenialReason, 'sponsor_disabled' | 'sponsor_not_found'>;

/** The denial reason for a block of this kind. */
export function blockDenial(kind: BlockKind): BlockDenial {
  return kind === 'disabled' ? 'sponsor_disabled' : 'sponsor_not_found';
}

/**
 * The denial reason of a blocked human: that of the block placed first. `undefined` without a block.
 *
 * @param blocks of one person, oldest first
 */
export function denialOf(blocks: readonly SponsorBlock[]): BlockDenial | undefined {
  return blocks[0] && blockDenial(blocks[0].kind);
}
