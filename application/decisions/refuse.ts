/** Records a refusal and uses up its assertion (supplement "Client assertions", "Token endpoint"). */

import type { DenialReason } from '../../domain/denial.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { denialOf } from '../../domain/sponsors/block.ts';
import { assertionLocks, assertionQuestions, isReplayed, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { shared } from './lock.ts';

/** A refusal and the facts that the recording transaction checks. */
export interface Refusal {
  readonly entry: LedgerEntry & { readonly decision: 'deny'; readonly reason: DenialReason };
  /** The assertion that the refusal uses up; `undefined` if the client may send it again. */
  readonly assertion?: SpentAssertion | undefined;
  /** Set if the person passed all other checks: a block that was placed since then is the reason to record. */
  readonly sponsorKey?: SponsorKey | undefined;
}

/**
 * The verdict is the recorded reason. It differs from the entry's reason if an earlier check fails now:
 * - `actor_replayed` if the assertion, or the client assertion sent with it, was used before. An unused one is used up.
 * - the block's reason if the person is blocked.
 */
export const refuse = decision({
  name: 'refuse',
  transaction: 'shared',

  locks: ({ sponsorKey, assertion }: Refusal) => [
    ...(sponsorKey === undefined ? [] : [shared('sponsor', sponsorKey)]),
    ...assertionLocks(assertion),
  ],

  asks: ({ sponsorKey, assertion }) => ({
    spent: assertionQuestions(assertion),
    blocks: sponsorKey && ask('blocks', sponsorKey),
  }),

  judge: ({ entry, assertion }, { spent, blocks = [] }): Judgement<DenialReason> => {
    const reason = isReplayed(spent) ? 'actor_replayed' : (denialOf(blocks) ?? entry.reason);
    return {
      verdict: reason,
      effects: [...spend(assertion, spent), ...recorded([{ ...entry, reason }])],
    };
  },

  denial: ({ entry }, reason) => ({ event: entry.event, reason }),
});
