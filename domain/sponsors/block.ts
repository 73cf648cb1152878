/**
 * Blocks of a person (specification "Sponsor block"; supplement "Blocks, poll mode, health"). Each source has at most
 * one block of a person, and places, restates and lifts only its own. The service refuses the person until no block is
 * left.
 */

import type { DenialReason } from '../denial.ts';
import type { SponsorKey } from '../identifiers.ts';
import { type Instant, toShortText } from '../instant.ts';

/** `self`: the person's own pause. */
export const blockSources = ['admin', 'scim', 'self', 'ssf'] as const;
export type BlockSource = (typeof blockSources)[number];

export function parseBlockSource(text: string): BlockSource | undefined {
  return blockSources.find((source) => source === text);
}

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

/** A block as JSON, for operators and the person. */
export function presentBlock({ sponsorKey, source, kind, blockedAt }: SponsorBlock): Record<string, unknown> {
  return { sponsor_key: sponsorKey, source, kind, blocked_at: toShortText(blockedAt) };
}

/** Sorts a person's blocks by the time they were placed, and blocks of the same time by source. */
export function oldestFirst(one: SponsorBlock, other: SponsorBlock): number {
  if (one.blockedAt !== other.blockedAt) return one.blockedAt - other.blockedAt;
  return one.source < other.source ? -1 : 1;
}

/**
 * Whether an account-enabled event was stated before the block that it would lift. Signals arrive in any order, and an
 * outdated event lifts nothing. Transmitters state whole seconds; within one second the event counts as later.
 */
export function isOutdated(enabledAt: Instant, blockStatedAt: Instant): boolean {
  return enabledAt < blockStatedAt;
}

type BlockDenial = Extract<DenialReason, 'sponsor_disabled' | 'sponsor_not_found'>;

/** The denial reason for a block of this kind. */
export function blockDenial(kind: BlockKind): BlockDenial {
  return kind === 'disabled' ? 'sponsor_disabled' : 'sponsor_not_found';
}

/**
 * The denial reason of a blocked person: that of the block placed first. `undefined` without a block.
 *
 * @param blocks of one person, oldest first
 */
export function denialOf(blocks: readonly SponsorBlock[]): BlockDenial | undefined {
  return blocks[0] && blockDenial(blocks[0].kind);
}
