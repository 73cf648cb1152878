/**
 * A person refuses that an agent hands work to other agents, and allows it again (`Service:Delegation`). A hand-over and a
 * take-up ask for the refusal under the same lock. Running child tasks go on.
 */

import type { AgentId, SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive, type Lock, shared } from './lock.ts';

export interface DelegationRefusal {
  readonly sponsorKey: SponsorKey;
  /** The agent that would hand work over. */
  readonly agentId: AgentId;
  /** Appended if the choice changes something. */
  readonly entry: LedgerEntry;
}

export interface DelegationPermission extends DelegationRefusal {
  /** Appended instead of removing the refusal: the person signed in too long ago. `undefined` if it may be removed. */
  readonly tooOld?: LedgerEntry | undefined;
}

/** `done` also if nothing changed: the person had chosen the same before. Then nothing is written. */
export type DelegationVerdict = 'done' | 'unknown_agent';

/** The agent is not removed meanwhile: its refusals go with it. */
const locksOf = ({ sponsorKey, agentId }: DelegationRefusal): readonly Lock[] => [
  exclusive('sponsor', sponsorKey),
  shared('agent', agentId),
];

const questionsOf = ({ sponsorKey, agentId }: DelegationRefusal) => ({
  isRefused: ask('delegation_refused', { sponsorKey, agentId }),
  revision: ask('agent_revision', agentId),
});

export const refuseDelegation = decision({
  name: 'refuse_delegation',
  transaction: 'person',
  locks: (refusal: DelegationRefusal) => locksOf(refusal),
  asks: (refusal) => questionsOf(refusal),
  judge: ({ sponsorKey, agentId, entry }, { isRefused, revision }): Judgement<DelegationVerdict> => {
    if (revision === undefined) return { verdict: 'unknown_agent', effects: [] };
    if (isRefused) return { verdict: 'done', effects: [] };
    const refusal = { effect: 'put_delegation_refusal', sponsorKey, agentId, refusedAt: entry.at } as const;
    return { verdict: 'done', effects: [refusal, ...recorded([entry])] };
  },
});

export const allowDelegation = decision({
  name: 'allow_delegation',
  transaction: 'own',
  locks: (permission: DelegationPermission) => locksOf(permission),
  asks: (permission) => questionsOf(permission),
  judge: (permission, { isRefused, revision }): Judgement<DelegationVerdict | 'sign_in_too_old'> => {
    const { sponsorKey, agentId, entry, tooOld } = permission;
    if (revision === undefined) return { verdict: 'unknown_agent', effects: [] };
    if (!isRefused) return { verdict: 'done', effects: [] };
    if (tooOld !== undefined) return { verdict: 'sign_in_too_old', effects: recorded([tooOld]) };
    const removal = { effect: 'remove_delegation_refusal', sponsorKey, agentId } as const;
    return { verdict: 'done', effects: [removal, ...recorded([entry])] };
  },
  denial: ({ tooOld }, verdict) =>
    verdict === 'sign_in_too_old' && tooOld ? { event: tooOld.event, reason: verdict } : undefined,
});
