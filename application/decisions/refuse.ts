/** Records a refusal and uses up its assertion (supplement "Client assertions", "Token endpoint"). */

import type { DenialReason } from '../../domain/denial.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { denialOf } from '../../domain/sponsors/block.ts';
import type { GrantHash } from '../../domain/tasks/task.ts';
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
  /** Set if a plain read did not find this grant of the entry's agent. */
  readonly unknownGrant?: GrantHash | undefined;
}

/**
 * `grant_exists`: the plain read was outdated, and nothing was written
 * (docs/decisions/0027-a-switch-that-finds-nothing.md). Every other verdict is the recorded reason. It differs from the
 * entry's reason if an earlier check fails now:
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

  asks: ({ sponsorKey, assertion, unknownGrant }) => ({
    spent: assertionQuestions(assertion),
    blocks: sponsorKey && ask('blocks', sponsorKey),
    owner: unknownGrant === undefined ? undefined : ask('grant_owner', unknownGrant),
  }),

  judge: ({ entry, assertion }, { spent, blocks = [], owner }): Judgement<DenialReason | 'grant_exists'> => {
    if (owner !== undefined && owner.agentId === entry.agentId) return { verdict: 'grant_exists', effects: [] };
    const reason = isReplayed(spent) ? 'actor_replayed' : (denialOf(blocks) ?? entry.reason);
    return {
      verdict: reason,
      effects: [...spend(assertion, spent), ...recorded([{ ...entry, reason }])],
    };
  },

  denial: ({ entry }, reason) => (reason === 'grant_exists' ? undefined : { event: entry.event, reason }),
});
