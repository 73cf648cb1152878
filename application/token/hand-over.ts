/**
 * Offers a part of a task to another agent (docs/sub-agents.md): the agent of the task presents its grant, and receives an offer that
 * only the named agent can take up, once (take-up.ts). Neither a token nor a grant changes hands.
 *
 * The checks of a refresh come first. Then the registration of the other agent is checked; the take-up checks everything again.
 */

import { judgeChain } from '../../domain/delegation/hand-over.ts';
import { makeOfferId, OFFER_TYPE, offerClaims } from '../../domain/delegation/offer.ts';
import type { DenialReason } from '../../domain/denial.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { offeredDetail } from '../../domain/ledger/delegation-records.ts';
import { formatScope, type Scope } from '../../domain/scope.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import { judgePolicy } from '../../domain/tasks/policy.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type CachedAgents, retryOnConflict } from '../authentication/agent-cache.ts';
import { type ActingCredentials, authenticateActing } from '../authentication/authenticate-acting.ts';
import type { AgentAuthentication } from '../authentication/authenticate-agent.ts';
import { offerDelegation } from '../decisions/offer-delegation.ts';
import { allowed, type Denied, denied, type Outcome } from '../outcome.ts';
import type { HeldPermit, SigningKeys } from '../ports/keys.ts';
import type { Randomness } from '../ports/runtime.ts';
import { type FoundAncestor, judgedAncestor } from './chain.ts';
import { checkGrant, type GrantChecking, type UsableGrant } from './usable-grant.ts';

export interface HandOverRequest extends ActingCredentials {
  /** The task grant of the agent that delegates. */
  readonly grant: string;
  /** The agent that may take it up. */
  readonly child: AgentId;
  readonly resource: string;
  readonly scope: Scope;
}

export interface IssuedOffer {
  readonly offer: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly scope: Scope;
}

export interface HandingOver extends Omit<AgentAuthentication, 'agents'>, GrantChecking {
  /** Opens one request's view of the agent cache. */
  readonly agentCache: () => CachedAgents;
  readonly signingKeys: SigningKeys;
  readonly randomness: Randomness;
  readonly issuer: string;
}

export async function handOver(
  service: HandingOver,
  request: HandOverRequest,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<IssuedOffer>> {
  const requested = { audience: request.resource, scope: formatScope(request.scope) };
  const { delegation } = service;
  if (delegation === undefined) return denied('delegation_not_allowed');

  return retryOnConflict(service.agentCache(), async (agents) => {
    // 1. Authenticate the agent that delegates. Its task may have begun with a code.
    const by = { about: requested, keys: 'either', trace, permit } as const;
    const asking = await authenticateActing(service, agents, request, by);
    if (asking.kind === 'denied') return asking;
    const { agent, assertion, instance } = asking.value;

    // 2. The checks of a refresh.
    const { grant: refreshToken, resource, scope: asked } = request;
    const usable = await checkGrant(service, asking.value, { refreshToken, resource, scope: asked }, requested, trace);
    if (usable.kind === 'denied') return aboutAnOffer(usable);
    const { grant, scope, refuse } = usable.value;
    const { task } = grant;
    const { sponsorKey } = task;
    // Only the offer is refused. The task goes on, so its client need not ask the person again.
    const refuseOffer = (reason: DenialReason, detail?: string): Denied =>
      refuse(reason, { sponsorKey, isOfPersonsStart: false, detail });

    // 3. The other agent is one to which this agent may delegate, and could do something with it. Whether it is enabled is
    // revealed to itself only.
    const child = await service.agents.find(request.child);
    if (child === undefined) return refuseOffer('delegation_not_allowed');
    const { ancestors } = usable.value;
    const chainDenial = judgeChain([child, agent, ...ancestors.map((ancestor) => ancestor.agent)], delegation.maxDepth);
    if (chainDenial !== undefined) return refuseOffer(chainDenial);
    const depth = task.delegationDepth + 1;
    const policy = judgePolicy(child, { audience: task.audience, requested: scope, held: scope, depth });
    if (policy.kind === 'refused') return refuseOffer(policy.reason, OF_CHILD[policy.reason]);

    // 4. Record and sign the offer.
    const own = ownAsAncestor(service, usable.value, agent);
    const now = await service.sharedTime.earliest();
    const offerId = makeOfferId(service.randomness.ulid());
    const { issuer } = service;
    const of = { issuer, offerId, task, instance, child: child.agentId, scope, now, ttl: delegation.offerTtl };
    const { claims, expiresIn } = offerClaims(of);
    const [offered, offer] = await Promise.all([
      service.decisions.decide(offerDelegation, {
        taskId: task.taskId,
        sponsorKey,
        scope,
        ancestors: [judgedAncestor(own), ...ancestors.map(judgedAncestor)],
        assertion,
        maxChildren: delegation.maxChildrenPerTask,
        entry: {
          at: now,
          event: 'delegation.offered',
          taskId: task.taskId,
          agentId: task.agentId,
          sponsor: task.sponsor,
          audience: task.audience,
          scope: formatScope(scope),
          delegationDepth: task.delegationDepth,
          decision: 'allow',
          detail: offeredDetail(offerId, child.agentId),
        },
      }),
      service.signingKeys.sign(OFFER_TYPE, claims),
    ]);
    switch (offered.kind) {
      case 'agent_changed':
      case 'parent_ended':
      case 'narrowed':
        return 'conflict';
      case 'replayed':
        return refuse('actor_replayed');
      case 'sponsor_blocked':
        return refuse(blockDenial(offered.block));
      case 'delegation_refused':
        return refuseOffer('delegation_refused_by_person');
      case 'too_many_children':
        return refuseOffer('too_many_children');
      case 'offered':
        return allowed({ offer, expiresIn, scope });
    }
  });
}

/** The reasons' own sentences are about the agent that sends the request. */
const OF_CHILD: Partial<Record<DenialReason, string>> = {
  scope_intersection_empty: 'None of the offered scopes is allowed to the other agent.',
  audience_not_allowed: 'The other agent may not act at this resource.',
};

/** The reason's own sentence is about a refresh. */
function aboutAnOffer(refused: Denied): Denied {
  const { denial } = refused;
  if (denial.reason !== 'scope_widened') return refused;
  return denied(denial.reason, { ...denial, detail: 'An offer may not have a scope that the task does not hold.' });
}

/** The task of the grant. */
function ownAsAncestor(
  { digest }: Pick<GrantChecking, 'digest'>,
  { grant, presented }: UsableGrant,
  agent: FoundAncestor['agent'],
): FoundAncestor {
  const { task, taskState: state, scope } = grant;
  return { task, state, scope, grantHash: digest(presented.named), agent };
}
