/** A person refuses that an agent hands work to other agents, and allows it again (`Service:Delegation`). */

import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { allowDelegation, type DelegationVerdict, refuseDelegation } from '../decisions/delegation-refusal.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import type { DelegationRefusal, Sponsors } from '../ports/sponsors.ts';
import { mayResume } from './pause.ts';

export type MyDelegationRefusal = DelegationRefusal;

interface Choosing {
  readonly decisions: Decisions;
  readonly clock: Clock;
}

interface Reading {
  readonly sponsors: Pick<Sponsors, 'delegationRefusals'>;
}

export interface MyDelegationRefusals {
  /** The latest refusal first. */
  readonly refusals: readonly MyDelegationRefusal[];
  /** Whether there are more than the limit. */
  readonly areMore: boolean;
}

export async function myDelegationRefusals(
  { sponsors }: Reading,
  { sponsorKey }: MePerson,
  limit: number,
): Promise<MyDelegationRefusals> {
  const found = await sponsors.delegationRefusals({ sponsorKey, limit: limit + 1 });
  return { refusals: found.slice(0, limit), areMore: found.length > limit };
}

/** Those of the agents whose handing-over the person refuses. */
export async function refusedAmong(
  { sponsors }: Reading,
  { sponsorKey }: MePerson,
  agentIds: readonly AgentId[],
): Promise<ReadonlySet<AgentId>> {
  const among = [...new Set(agentIds)];
  const question = { sponsorKey, among, limit: among.length };
  const found = among.length === 0 ? [] : await sponsors.delegationRefusals(question);
  return new Set(found.map(({ agentId }) => agentId));
}

/** Running child tasks go on. Offers that no agent has taken up yet are refused. */
export async function refuseMyDelegation(
  { decisions, clock }: Choosing,
  person: MePerson,
  agentId: AgentId,
): Promise<DelegationVerdict> {
  const entry = entryOf('delegation.refused', { person, agentId, at: clock.now() });
  return decisions.decide(refuseDelegation, { sponsorKey: person.sponsorKey, agentId, entry });
}

export type DelegationAllowed = DelegationVerdict | 'sign_in_too_old';

/** An agent may hold an old token or session of the person: as a pause, a refusal ends only after a recent sign-in. */
export async function allowMyDelegation(
  service: Choosing & { readonly sharedTime: Pick<SharedTime, 'latest'> },
  person: MePerson,
  agentId: AgentId,
): Promise<DelegationAllowed> {
  const { sponsorKey, subject: sponsor } = person;
  const at = service.clock.now();
  const entry = entryOf('delegation.allowed', { person, agentId, at });
  const tooOld: LedgerEntry | undefined = (await mayResume(service, person))
    ? undefined
    : { at, event: 'me.denied', sponsor, decision: 'deny', reason: 'sign_in_too_old' };
  return service.decisions.decide(allowDelegation, { sponsorKey, agentId, entry, tooOld });
}

function entryOf(
  event: 'delegation.refused' | 'delegation.allowed',
  { person, agentId, at }: { readonly person: MePerson; readonly agentId: AgentId; readonly at: LedgerEntry['at'] },
): LedgerEntry {
  return { at, event, agentId, sponsor: person.subject, decision: 'allow', detail: `agent=${agentId}` };
}
