/**
 * Records an offer to another agent (docs/sub-agents.md). The offer itself is not stored, and takes no place: the decision that takes
 * it up reads everything again (open-task.ts).
 */

import type { SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Scope } from '../../domain/scope.ts';
import { assertionLocks, assertionQuestions, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { type ChainObstacle, chainLocks, chainQuestions, findChainObstacle, type JudgedAncestor } from './delegated.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { shared } from './lock.ts';
import { findObstacle, type Obstacle } from './obstacle.ts';

export interface DelegationOffering {
  readonly taskId: TaskId;
  readonly sponsorKey: SponsorKey;
  readonly scope: Scope;
  /** The task that delegates, and the tasks above it. Its agent makes the offer. */
  readonly ancestors: readonly [JudgedAncestor, ...JudgedAncestor[]];
  readonly assertion: SpentAssertion | undefined;
  /** How many live tasks may be delegated directly from the task. */
  readonly maxChildren: number;
  /** The `delegation.offered` entry. */
  readonly entry: LedgerEntry;
}

/** Nothing is written unless it is `offered`. After a `ChainObstacle` the caller checks the request again. */
type OfferVerdict =
  | { readonly kind: 'offered' | 'delegation_refused' | 'too_many_children' }
  | ChainObstacle
  | Obstacle;

export const offerDelegation = decision({
  name: 'offer_delegation',
  transaction: 'shared',

  locks: ({ sponsorKey, ancestors, assertion }: DelegationOffering) => [
    shared('sponsor', sponsorKey),
    ...assertionLocks(assertion),
    ...chainLocks(ancestors),
  ],

  asks: ({ sponsorKey, ancestors, assertion, taskId, entry }) => ({
    spent: assertionQuestions(assertion),
    blocks: ask('blocks', sponsorKey),
    isRefused: ask('delegation_refused', { sponsorKey, agentId: ancestors[0].agentId }),
    children: ask('live_children', { taskId, at: entry.at }),
    ...chainQuestions(ancestors),
  }),

  judge: (offering, facts): Judgement<OfferVerdict> => {
    const { ancestors, scope, assertion, maxChildren, entry } = offering;
    const refused = (verdict: OfferVerdict): Judgement<OfferVerdict> => ({ verdict, effects: [] });
    const obstacle =
      findObstacle(ancestors[0].agentRevision, { ...facts, revision: facts.ancestorRevisions[0] }) ??
      findChainObstacle(ancestors, facts, { scope, at: entry.at });
    if (obstacle !== undefined) return refused(obstacle);
    if (facts.isRefused) return refused({ kind: 'delegation_refused' });
    if (facts.children >= maxChildren) return refused({ kind: 'too_many_children' });
    return { verdict: { kind: 'offered' }, effects: [...spend(assertion, facts.spent), ...recorded([entry])] };
  },
});
