/** Lifts the block of one source (specification "Sponsor block"). Ended tasks stay ended. */

import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { BlockSource } from '../../domain/sponsors/block.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';

export interface BlockLift {
  readonly sponsorKey: SponsorKey;
  readonly source: BlockSource;
  /** Appended if the block is lifted. */
  readonly entry: LedgerEntry;
  /** Appended if only other sources block the person. */
  readonly refusal: LedgerEntry;
  /** Appended instead of lifting the block: the person signed in too long ago. `undefined` if it may be lifted. */
  readonly tooOld?: LedgerEntry | undefined;
}

export type LiftVerdict =
  /** This source's block is removed. Other sources may still block the person. */
  | 'lifted'
  | 'not_blocked'
  /** Only other sources block the person; their blocks stay. */
  | 'not_owned'
  /** The block stays: the person must sign in again first. */
  | 'sign_in_too_old';

export const liftBlock = decision({
  name: 'lift_block',
  transaction: 'own',
  locks: ({ sponsorKey }: BlockLift) => [exclusive('sponsor', sponsorKey)],
  asks: ({ sponsorKey }) => ({ blocks: ask('blocks', sponsorKey) }),

  judge: ({ sponsorKey, source, entry, refusal, tooOld }, { blocks }): Judgement<LiftVerdict> => {
    if (blocks.length === 0) return { verdict: 'not_blocked', effects: [] };
    if (!blocks.some((block) => block.source === source)) {
      return { verdict: 'not_owned', effects: recorded([refusal]) };
    }
    if (tooOld !== undefined) return { verdict: 'sign_in_too_old', effects: recorded([tooOld]) };
    return {
      verdict: 'lifted',
      effects: [{ effect: 'remove_block', sponsorKey, source }, ...recorded([entry])],
    };
  },

  denial: ({ refusal, tooOld }, verdict) => {
    if (verdict === 'not_owned') return { event: refusal.event, reason: 'sponsor_block_not_owned' };
    return verdict === 'sign_in_too_old' && tooOld ? { event: tooOld.event, reason: 'sign_in_too_old' } : undefined;
  },
});
