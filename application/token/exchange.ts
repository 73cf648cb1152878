/**
 * Token exchange (RFC 8693; specification "POST /oauth2/token", Exchange): an agent presents a person's access token
 * and receives a task, its first token and its grant.
 *
 * The life of a task:
 * - exchange.ts finds out who asks and for whom. start-task.ts opens the task.
 * - refresh.ts renews its token. usable-grant.ts has the checks of a grant.
 * - hand-over.ts offers a part of it to another agent. take-up.ts begins the task of that agent, below it. chain.ts reads the
 *   tasks above a task.
 * - revoke.ts lets the agent end it.
 * - introspect.ts tells tool servers whether a token is active. status-list.ts publishes the same for all tasks of an audience.
 *
 * mint.ts makes the tokens. Each use case has the numbered checks of the specification, and ends with one decision.
 */

import type { DenialReason } from '../../domain/denial.ts';
import { formatScope, type Scope } from '../../domain/scope.ts';
import { judgeMayAct, type MayActMode } from '../../domain/sponsors/may-act.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type CachedAgents, retryOnConflict } from '../authentication/agent-cache.ts';
import { type ActingCredentials, authenticateActing } from '../authentication/authenticate-acting.ts';
import type { AgentAuthentication } from '../authentication/authenticate-agent.ts';
import { readSubjectToken, type SubjectValidation } from '../authentication/validate-subject-token.ts';
import { type DenialSubject, type Denied, denied, type Outcome } from '../outcome.ts';
import type { HeldPermit } from '../ports/keys.ts';
import type { IssuedToken } from './mint.ts';
import { startTask, type TaskStarting } from './start-task.ts';

export interface ExchangeRequest extends ActingCredentials {
  readonly subjectToken: string;
  readonly resource: string;
  readonly scope: Scope;
  /** Why the agent starts the task, in its own words. */
  readonly purpose: string | undefined;
}

interface Exchange extends Omit<AgentAuthentication, 'agents'>, Omit<SubjectValidation, 'sharedTime'>, TaskStarting {
  /** Opens one request's view of the agent cache. */
  readonly agentCache: () => CachedAgents;
  /** The required `aud` of the subject token. The permitted ones of the assertion are in `audiences`. */
  readonly audience: string;
  /** `Service:UpstreamIdp:MayAct`. */
  readonly mayAct: MayActMode;
}

export async function exchangeToken(
  service: Exchange,
  request: ExchangeRequest,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<IssuedToken>> {
  const requested = { audience: request.resource, scope: formatScope(request.scope) };

  return retryOnConflict(service.agentCache(), async (agents) => {
    // 1. Authenticate the agent.
    const asking = await authenticateActing(service, agents, request, { about: requested, trace, permit });
    if (asking.kind === 'denied') return asking;
    const { agent, assertion } = asking.value;
    const refuse = (reason: DenialReason, about?: DenialSubject): Denied =>
      denied(reason, { about: { ...requested, agentId: agent.agentId, ...about }, assertion });

    // 2. Validate the person's token.
    const subject = await readSubjectToken(service, request.subjectToken, trace, permit);
    if (subject.kind === 'denied') return refuse(subject.denial.reason, subject.denial.about);
    const { person, claims } = subject.value;
    // Before the sponsor check: an agent that the person's provider does not name learns nothing about the person.
    const mayActDenial = judgeMayAct(service.mayAct, claims, agent, [service.issuer, person.issuer]);
    if (mayActDenial !== undefined) return refuse(mayActDenial, { sponsor: person.subject });

    // 3. Check the sponsor, 4. evaluate the policy, and 5. issue.
    const { resource: audience, scope: asked, purpose } = request;
    return startTask(service, asking.value, { person, audience, requested: asked, purpose }, trace);
  });
}
