/**
 * The checks of a task grant (specification "POST /oauth2/token", Refresh), with the specification's numbers and order. A refresh
 * and an offer to another agent (hand-over.ts) begin with them.
 */

import type { DenialReason } from '../../domain/denial.ts';
import { secondsBetween } from '../../domain/instant.ts';
import { intersectScopes, isWithin, type Scope } from '../../domain/scope.ts';
import { isSuperseded, judgeGrant, type PresentedGrant, readGrant } from '../../domain/tasks/grant.ts';
import { judgePolicy } from '../../domain/tasks/policy.ts';
import type { Grant } from '../../domain/tasks/task.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { AuthenticatedClient } from '../authentication/authenticate-client.ts';
import { checkSponsor, type SponsorCheck } from '../authentication/check-sponsor.ts';
import { findGrantOwner } from '../decisions/find.ts';
import { allowed, type Denial, type DenialSubject, type Denied, denied, type Outcome } from '../outcome.ts';
import { type Decisions, StorageUnavailable } from '../ports/decisions.ts';
import type { Clock, Digest, SharedTime } from '../ports/runtime.ts';
import type { Tasks } from '../ports/tasks.ts';
import { type ChainChecking, chainSentence, checkAbove, type FoundAncestor } from './chain.ts';

export interface GrantRequest {
  readonly refreshToken: string;
  /** `undefined` requests the task's audience. */
  readonly resource: string | undefined;
  /** Set without a `resource`, if only a task that its person started may be renewed so. */
  readonly needsResource?: boolean;
  /** `undefined` requests the grant's scope. */
  readonly scope: Scope | undefined;
}

export interface GrantChecking extends SponsorCheck, ChainChecking {
  readonly decisions: Decisions;
  readonly tasks: Pick<Tasks, 'findGrant' | 'chain'>;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly sharedTime: SharedTime;
  /** Seconds: `Service:UpstreamIdp:SponsorCheck:CacheTtl`. */
  readonly sponsorCacheTtl: number;
}

type RefusalFacts = Pick<Denial, 'detail' | 'sponsorKey' | 'misusedTask' | 'isOfPersonsStart'>;

export interface UsableGrant {
  readonly grant: Grant;
  readonly presented: PresentedGrant;
  /** What the policy allows of the requested scope. */
  readonly scope: Scope;
  /** The tasks above, the nearest first. */
  readonly ancestors: readonly FoundAncestor[];
  refuse(reason: DenialReason, more?: RefusalFacts): Denied;
}

/** @param requested the audience and scopes that the request names, for the record */
export async function checkGrant(
  service: GrantChecking,
  asking: AuthenticatedClient,
  request: GrantRequest,
  requested: DenialSubject,
  trace?: Trace,
): Promise<Outcome<UsableGrant>> {
  const { agent, assertion } = asking;
  // (1) The grant exists and belongs to this agent.
  const found = await findGrant(service, asking, request, requested);
  if (found.kind === 'denied') return found;
  const { grant, presented } = found.value;
  const { task } = grant;
  const isOfPersonsStart = task.authorization !== undefined;
  const resource = request.resource ?? task.audience;
  const about = {
    ...requested,
    audience: resource,
    agentId: agent.agentId,
    taskId: task.taskId,
    sponsor: task.sponsor,
  };
  const refuse = (reason: DenialReason, more: RefusalFacts = {}): Denied =>
    denied(reason, { about, assertion, ...(isOfPersonsStart && { isOfPersonsStart }), ...more });

  // An older rotation is a sign of theft, whatever else the request asks (RFC 9700 §4.14.2).
  const asked = service.clock.now();
  const ended = judgeGrant(grant, asked);
  if (ended === undefined && (await wasSuperseded(service, grant, request))) {
    const endsAt = await service.sharedTime.earliest();
    return refuse('grant_superseded', { misusedTask: { taskId: task.taskId, sponsorKey: task.sponsorKey, endsAt } });
  }
  if (!agent.enabled) return refuse('agent_disabled');
  // A client with a document authenticates by it for what a person allowed. Its registered keys are for exchanges.
  const isOfDocument = isOfPersonsStart && agent.clientIdDocument !== undefined;
  if (isOfDocument && asking.provedBy === 'registration') return refuse('actor_unknown_key');

  // (2) The task is not revoked, (3) has not expired, and (4) has enough time left.
  if (ended !== undefined) return refuse(ended);

  // (5) The sponsor check still passes. A cached answer must be newer than the task and no older than a token's life.
  // The task was dated by the earlier clock.
  const { sponsorKey } = task;
  const taskAge = secondsBetween(task.createdAt, await service.sharedTime.earliest());
  const lifetime = Math.min(agent.maxTokenTtl, secondsBetween(asked, task.expiresAt));
  const maxAge = Math.min(service.sponsorCacheTtl, lifetime, taskAge);
  const person = { subject: task.sponsor, sponsorKey };
  const sponsorDenial = await checkSponsor(service, person, Math.max(0, maxAge), trace);
  if (sponsorDenial !== undefined) return refuse(sponsorDenial);
  // The task may have expired during the sponsor check.
  const endedSince = judgeGrant(grant, service.clock.now());
  if (endedSince !== undefined) return refuse(endedSince);

  // (6) The same audience as the task, and no scope beyond the grant's, which an earlier refresh may have narrowed.
  if (resource !== task.audience) return refuse('audience_mismatch', { sponsorKey });
  const requestedScope = request.scope ?? grant.scope;
  if (!isWithin(requestedScope, grant.scope)) return refuse('scope_widened', { sponsorKey });

  // The tasks above a delegated one are live, and their agents may act. A scope that was narrowed above is narrowed here.
  const above = await checkAbove(service, task, agent);
  if (above.kind === 'refused') return refuse(above.reason, { sponsorKey, detail: above.detail });

  // (7) The policy grants it under the agent's current registration.
  const policy = judgePolicy(agent, {
    audience: task.audience,
    requested: requestedScope,
    held: above.scope === undefined ? grant.scope : intersectScopes(grant.scope, above.scope),
    depth: task.delegationDepth,
  });
  if (policy.kind === 'refused') {
    const detail = above.scope && chainSentence(policy.reason);
    return refuse(policy.reason, { sponsorKey, detail });
  }
  return allowed({ grant, presented, scope: policy.scope, ancestors: above.ancestors, refuse });
}

/** A plain read may be outdated, and would then end the task of the newest grant. So the deciding server has the last word. */
async function wasSuperseded(
  { decisions, digest }: Pick<GrantChecking, 'decisions' | 'digest'>,
  { rotation, task: { agentId } }: Grant,
  { refreshToken }: GrantRequest,
): Promise<boolean> {
  const presented = digest(refreshToken);
  if (rotation === undefined || !isSuperseded(rotation, presented)) return false;
  const found = await decisions.decide(findGrantOwner, { agentId, grantHash: digest(readGrant(refreshToken).named) });
  return found?.rotation !== undefined && isSuperseded(found.rotation, presented);
}

/** The client's grant, and what an exchanged task requires more: an enabled agent before all else, and a `resource`. */
async function findGrant(
  service: Pick<GrantChecking, 'tasks' | 'decisions' | 'digest'>,
  { agent, assertion }: AuthenticatedClient,
  { refreshToken, needsResource }: GrantRequest,
  requested: DenialSubject,
): Promise<Outcome<{ readonly grant: Grant; readonly presented: PresentedGrant }>> {
  const presented = readGrant(refreshToken);
  const grantHash = service.digest(presented.named);
  const { agentId } = agent;
  const grant = await service.tasks.findGrant(agentId, grantHash);
  const about = { ...requested, agentId };
  const isOfPersonsStart = grant?.task.authorization !== undefined;
  if (!agent.enabled && !isOfPersonsStart && assertion !== undefined) {
    return denied('agent_disabled', { about, assertion });
  }
  if (grant === undefined && assertion === undefined) {
    // A client_id alone proves nothing: the denial is anonymous, so no transaction records it and looks again.
    const owner = await service.decisions.decide(findGrantOwner, { agentId, grantHash });
    if (owner !== undefined) throw new StorageUnavailable('A read did not find a grant that is stored');
    return denied('grant_not_found');
  }
  if (grant === undefined) return denied('grant_not_found', { about, assertion, unknownGrant: grantHash });
  const of = { ...about, taskId: grant.task.taskId, sponsor: grant.task.sponsor };
  // The two kinds of grant have two forms. No client was given this one.
  if ((grant.rotation === undefined) !== (presented.rotating === undefined)) {
    return denied('grant_not_found', { about: assertion && about, assertion });
  }
  // The code of this task was redeemed with a key.
  if (assertion === undefined && grant.rotation === undefined) return denied('client_not_public', { about: of });
  if (needsResource && !isOfPersonsStart) {
    return denied('invalid_request', { detail: 'The parameter resource is missing.', about: of, assertion });
  }
  return allowed({ grant, presented });
}
