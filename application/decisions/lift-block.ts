/** Lifts the block of one source (specification "Sponsor block"). Ended tasks stay ended. */

import type { SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { isOther, isSamePerson } from '../../domain/operators/operator.ts';
import type { BlockSource } from '../../domain/sponsors/block.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';
import { type Explained, explained } from './operator-act.ts';

export interface BlockLift extends Explained {
  readonly sponsorKey: SponsorKey;
  readonly source: BlockSource;
  /** Appended if the block is lifted. */
  readonly entry: LedgerEntry;
  /** Appended if the verdict is `not_owned`. */
  readonly refusal: LedgerEntry;
  /** Appended instead of lifting the block: the person signed in too long ago. `undefined` if it may be lifted. */
  readonly tooOld?: LedgerEntry | undefined;
  /** Whether it is refused while another source blocks the person as well. */
  readonly onlyAlone?: boolean | undefined;
  /**
   * Set if a second, different operator must ask as well. The admin key lifts alone. A first request is over by the earlier
   * of two clocks (supplement "Clocks").
   */
  readonly twoPersons?: { readonly earliest: Instant } | undefined;
}

/** How long a first operator's request awaits the second one's. */
export const PENDING_SECONDS = 3600;

export type LiftVerdict =
  /** This source's block is removed. Other sources may still block the person. */
  | 'lifted'
  | 'not_blocked'
  /** Other sources block the person; their blocks stay. If `onlyAlone` is set, this source's block stays too. */
  | 'not_owned'
  /** The block stays: the person must sign in again first. */
  | 'sign_in_too_old'
  /** The operator who asks is the blocked person, or may be. */
  | 'operator_is_sponsor'
  /** The block stays until a second operator asks. */
  | 'pending';

export const liftBlock = explained(
  decision({
    name: 'lift_block',
    transaction: 'own',
    locks: ({ sponsorKey }: BlockLift) => [exclusive('sponsor', sponsorKey)],
    asks: ({ sponsorKey, twoPersons }) => ({
      blocks: ask('blocks', sponsorKey),
      ...(twoPersons ? { pending: ask('pending_unblock', sponsorKey) } : {}),
    }),

    judge: (input, { blocks, pending }): Judgement<LiftVerdict> => {
      const { sponsorKey, source, entry, refusal, tooOld, onlyAlone, twoPersons, act } = input;
      if (blocks.length === 0) return { verdict: 'not_blocked', effects: [] };
      const isAmongOthers = onlyAlone === true && blocks.length > 1;
      if (isAmongOthers || !blocks.some((block) => block.source === source)) {
        return { verdict: 'not_owned', effects: recorded([refusal]) };
      }
      if (tooOld !== undefined) return { verdict: 'sign_in_too_old', effects: recorded([tooOld]) };
      const operator = act?.operator.kind === 'person' ? act.operator : undefined;
      if (operator !== undefined && !isOther(operator, sponsorKey)) {
        const reason = 'operator_is_sponsor';
        return { verdict: reason, effects: recorded([{ ...refusal, reason }]) };
      }
      if (operator !== undefined && twoPersons !== undefined) {
        if (pending === undefined || pending.forgetAt <= twoPersons.earliest) {
          const { issuer, subject, sponsorKey: operatorKey } = operator;
          const forgetAt = plusSeconds(entry.at, PENDING_SECONDS);
          const first = { effect: 'put_pending_unblock', sponsorKey, issuer, subject, operatorKey, forgetAt } as const;
          return { verdict: 'pending', effects: [first] };
        }
        if (isSamePerson(operator, pending)) return { verdict: 'pending', effects: [] };
      }
      return {
        verdict: 'lifted',
        effects: [
          { effect: 'remove_block', sponsorKey, source },
          ...(act === undefined ? [] : [{ effect: 'remove_pending_unblock', sponsorKey } as const]),
          ...recorded([entry]),
        ],
      };
    },

    denial: ({ refusal, tooOld }, verdict) => {
      if (verdict === 'not_owned') return { event: refusal.event, reason: 'sponsor_block_not_owned' };
      if (verdict === 'operator_is_sponsor') return { event: refusal.event, reason: verdict };
      return verdict === 'sign_in_too_old' && tooOld ? { event: tooOld.event, reason: verdict } : undefined;
    },
  }),
);
