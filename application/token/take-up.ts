/**
 * Takes up an offer of another agent (docs/sub-agents.md): the named agent presents it in place of a person's token, and receives a
 * task below the one that delegated it, with its own token and grant. hand-over.ts makes offers.
 *
 * The client gets one sentence for every fault of an offer. Only the record says whether it was unknown, expired, used before, or
 * for another agent.
 */

import { isOfferOf, OFFER_TYPE, type Offer, readOffer } from '../../domain/delegation/offer.ts';
import type { DenialReason } from '../../domain/denial.ts';
import { takenDetail } from '../../domain/ledger/delegation-records.ts';
import { formatScope, type Scope } from '../../domain/scope.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { hasType, readCompactJws } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type CachedAgents, retryOnConflict } from '../authentication/agent-cache.ts';
import { type ActingCredentials, authenticateActing } from '../authentication/authenticate-acting.ts';
import type { AgentAuthentication } from '../authentication/authenticate-agent.ts';
import { findTaskOfOffer } from '../decisions/find.ts';
import { type DenialSubject, type Denied, denied, type Outcome } from '../outcome.ts';
import { StorageUnavailable } from '../ports/decisions.ts';
import type { HeldPermit, SigningKeys } from '../ports/keys.ts';
import type { Tasks } from '../ports/tasks.ts';
import type { IssuedToken } from './mint.ts';
import { startTask, type TaskStarting } from './start-task.ts';

export interface TakeUpRequest extends ActingCredentials {
  readonly offer: string;
  readonly resource: string;
  readonly scope: Scope;
  /** Why the agent starts the task, in its own words. */
  readonly purpose: string | undefined;
}

interface TakingUp extends Omit<AgentAuthentication, 'agents'>, TaskStarting {
  /** Opens one request's view of the agent cache. */
  readonly agentCache: () => CachedAgents;
  readonly tasks: Pick<Tasks, 'chain'>;
}

export async function takeUp(
  service: TakingUp,
  request: TakeUpRequest,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<IssuedToken>> {
  const requested = { audience: request.resource, scope: formatScope(request.scope) };

  return retryOnConflict(service.agentCache(), async (agents) => {
    // 1. Authenticate the agent that takes it up.
    const asking = await authenticateActing(service, agents, request, { about: requested, trace, permit });
    if (asking.kind === 'denied') return asking;
    const { agent, assertion } = asking.value;
    const refuse = (reason: DenialReason, about?: DenialSubject): Denied =>
      denied(reason, { about: { ...requested, agentId: agent.agentId, ...about }, assertion });

    // 2. The offer is the service's own, for this agent, and has not expired.
    const read = await readOwnOffer(service, request.offer);
    if (read === undefined) return refuse('delegation_offer_unknown');
    const { offer, claims } = read;
    const detail = takenDetail(offer.offerId, offer.taskId);
    const isPast = offer.expiresAt <= (await service.sharedTime.latest());
    const [parent, ...above] = await service.tasks.chain(offer.taskId);
    // The task of an old offer may be deleted since.
    if (parent === undefined && isPast) return refuse('delegation_offer_expired', { detail });
    if (parent === undefined && (await service.decisions.decide(findTaskOfOffer, offer)) !== undefined) {
      throw new StorageUnavailable('A read did not find a task that is stored');
    }
    // Until here the claims may be what a holder of a disclosed key has written: no person is recorded.
    if (parent === undefined || !isOfferOf(parent.task, offer, claims, service.issuer)) {
      return refuse('delegation_offer_unknown', { detail });
    }
    const about = { sponsor: parent.task.sponsor, detail };
    if (offer.child !== agent.agentId) return refuse('delegation_not_for_agent', about);
    if (isPast) return refuse('delegation_offer_expired', about);
    if (request.resource !== offer.audience) return refuse('audience_mismatch', about);

    // 3. Start the task, with the checks of an exchange. The offer is spent in the same transaction.
    const { sponsor: subject, sponsorKey, sessionId } = parent.task;
    const { scope } = offer;
    const invocation = {
      person: { subject, sponsorKey, sessionId, scope, issuedAt: undefined, authenticatedAt: undefined },
      audience: offer.audience,
      requested: request.scope,
      purpose: request.purpose,
      delegated: { offer, above: [parent, ...above] },
    } as const;
    return startTask(service, asking.value, invocation, trace);
  });
}

/** An offer with a signature of this service. Its issuer, its time and its task are not examined (`isOfferOf`). */
async function readOwnOffer(
  { signingKeys }: { readonly signingKeys: SigningKeys },
  text: string,
): Promise<{ readonly offer: Offer; readonly claims: Claims } | undefined> {
  const jws = readCompactJws(text);
  if (jws === undefined || !hasType(jws, [OFFER_TYPE]) || !(await signingKeys.verify(jws))) return undefined;
  const { claims } = jws;
  const offer = readOffer(claims);
  return offer && { offer, claims };
}
