/**
 * Token exchange (RFC 8693; specification "POST /oauth2/token", Exchange): an agent presents a person's access token
 * and receives a task, its first token and its grant.
 *
 * The life of a task: the exchange opens it, refresh.ts renews its token, revoke.ts lets the agent end it,
 * introspect.ts tells tool servers whether a token is active, and status-list.ts publishes the same for all tasks of
 * an audience. mint.ts makes the tokens. Each use case has the numbered checks of the specification, and ends with one
 * decision.
 */

import type { DenialReason } from '../../domain/denial.ts';
import { makeTaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../../domain/instant.ts';
import { formatScope, type Scope } from '../../domain/scope.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import { judgeMayAct, type MayActMode } from '../../domain/sponsors/may-act.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { GRANT_SECRET_BYTES, makeGrant } from '../../domain/tasks/grant.ts';
import { isEnding } from '../../domain/tasks/lifetime.ts';
import { ISSUED_DELEGATION_DEPTH, judgePolicy } from '../../domain/tasks/policy.ts';
import type { Task } from '../../domain/tasks/task.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type CachedAgents, retryOnConflict } from '../authentication/agent-cache.ts';
import {
  type AgentAuthentication,
  type AuthenticatedAgent,
  authenticateAgent,
} from '../authentication/authenticate-agent.ts';
import { checkSponsor, type SponsorCheck } from '../authentication/check-sponsor.ts';
import { readSubjectToken, type SubjectValidation } from '../authentication/validate-subject-token.ts';
import { openTask, type TaskOpening } from '../decisions/open-task.ts';
import { allowed, type Denial, type DenialSubject, type Denied, denied, type Outcome } from '../outcome.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { HeldPermit } from '../ports/keys.ts';
import type { Digest } from '../ports/runtime.ts';
import { type IssuedToken, type Minting, mint, tokenEntry } from './mint.ts';
import { openListedTask } from './open-listed-task.ts';
import { statePurpose } from './state-purpose.ts';

export interface ExchangeRequest {
  readonly subjectToken: string;
  /** The assertion of the acting agent: `actor_token`, or with `Service:Exchange:ClientIsActor` a sole `client_assertion`. */
  readonly actorToken: string | undefined;
  /** Some OAuth libraries send a `client_assertion` in addition to the `actor_token`. */
  readonly clientAssertion: string | undefined;
  readonly clientId: string | undefined;
  readonly resource: string;
  readonly scope: Scope;
  /** Why the agent starts the task, in its own words. */
  readonly purpose: string | undefined;
}

interface Exchange
  extends Omit<AgentAuthentication, 'agents'>,
    Omit<SubjectValidation, 'sharedTime'>,
    SponsorCheck,
    Minting {
  /** Opens one request's view of the agent cache. */
  readonly agentCache: () => CachedAgents;
  readonly decisions: Decisions;
  readonly digest: Digest;
  /** The required `aud` of the subject token. The permitted ones of the assertion are in `audiences`. */
  readonly audience: string;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
  /** `Service:UpstreamIdp:MayAct`. */
  readonly mayAct: MayActMode;
  /** Whether the task keeps what its scope was chosen from, for the console. */
  readonly keepOrigin: boolean;
}

/** The provider is queried on every exchange, without a cache (specification "Exchange" rule 4). */
const FRESH = 0;

export async function exchangeToken(
  service: Exchange,
  request: ExchangeRequest,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<IssuedToken>> {
  const requested = { audience: request.resource, scope: formatScope(request.scope) };

  return retryOnConflict(service.agentCache(), async (agents) => {
    // 1. Authenticate the agent.
    const { agentKeys, clock, sharedTime, audiences } = service;
    const authentication = { agents, agentKeys, clock, sharedTime, audiences };
    const asking = await authenticateBoth(authentication, request, { about: requested, trace, permit });
    if (asking.kind === 'denied') return asking;
    const { agent, assertion } = asking.value;
    const refuse = (reason: DenialReason, more: Pick<Denial, 'about' | 'sponsorKey'> = {}): Denied =>
      denied(reason, { ...more, about: { ...requested, agentId: agent.agentId, ...more.about }, assertion });

    // 2. Validate the person's token.
    const subject = await readSubjectToken(service, request.subjectToken, trace, permit);
    if (subject.kind === 'denied') return refuse(subject.denial.reason, { about: subject.denial.about });
    const { person, claims } = subject.value;
    const about = { sponsor: person.subject };
    // Before the sponsor check: an agent that the person's provider does not name learns nothing about the person.
    const mayActDenial = judgeMayAct(service.mayAct, claims, agent, [service.issuer, person.issuer]);
    if (mayActDenial !== undefined) return refuse(mayActDenial, { about });

    // 3. Check the sponsor. The deciding transaction below reads the blocks again.
    const sponsorDenial = await checkSponsor(service, person, FRESH, trace);
    if (sponsorDenial !== undefined) return refuse(sponsorDenial, { about });
    const { sponsorKey } = person;

    // 4. Evaluate the policy.
    const policy = judgePolicy(agent, {
      audience: request.resource,
      requested: request.scope,
      held: person.scope,
      depth: ISSUED_DELEGATION_DEPTH,
    });
    if (policy.kind === 'refused') return refuse(policy.reason, { about, sponsorKey });
    // The earlier clock: with one that is ahead, the task would outlive its agent's limit at every other instance.
    const createdAt = await service.sharedTime.earliest();
    const task = newTask(service, asking.value, { person, request, scope: policy.scope, createdAt });
    if (isEnding(task, task.createdAt)) return refuse('task_ending', { about, sponsorKey });

    // 5. Issue: task, grant, used assertion and record commit together.
    const token = mint(service, { ...asking.value, task, scope: policy.scope, now: task.createdAt });
    const grant = makeGrant(service.randomness.secret(GRANT_SECRET_BYTES));
    const opening: TaskOpening = {
      task,
      grantHash: service.digest(grant),
      assertion,
      agentRevision: agent.revision,
      refuseLoggedOut: service.refuseLoggedOut ? { issuedAt: person.issuedAt, earliest: createdAt } : undefined,
      entry: tokenEntry('token.issued', { at: task.createdAt, task, scope: policy.scope, tokenId: token.tokenId }),
      purpose: statePurpose(service, task, request.purpose),
    };
    // The token is signed at the same time, unless it names the status that the transaction chooses.
    const { decisions, statusLists } = service;
    const [signed, opened] = await Promise.all(
      statusLists === undefined
        ? [token.sign(), decisions.decide(openTask, opening)]
        : [undefined, openListedTask({ ...service, ...statusLists }, opening)],
    );
    switch (opened.kind) {
      case 'agent_changed':
      case 'no_status_index':
        return 'conflict';
      case 'replayed':
        return refuse('actor_replayed', { about });
      case 'sponsor_blocked':
        return refuse(blockDenial(opened.block), { about });
      case 'logged_out':
        return refuse('subject_logged_out', { about });
      case 'parent_ended':
        return refuse('task_revoked', { about });
      case 'opened':
        return allowed({
          accessToken: signed ?? (await token.sign(opened.status)),
          expiresIn: token.expiresIn,
          scope: policy.scope,
          refreshToken: grant,
          taskId: task.taskId,
          taskExpiresAt: task.expiresAt,
        });
    }
  });
}

const ANOTHER_AGENT = 'The client_assertion and the actor_token must be of one agent.';

/**
 * Authenticates by the `actor_token`, and by the `client_assertion` if one was sent. Both must be the same agent's, and
 * are used up together. If the `client_assertion` is refused, the `actor_token` is used up: it has already verified.
 */
async function authenticateBoth(
  authentication: AgentAuthentication,
  { actorToken, clientAssertion, clientId }: ExchangeRequest,
  {
    about,
    trace,
    permit,
  }: { readonly about: DenialSubject; readonly trace: Trace | undefined; readonly permit: HeldPermit },
): Promise<Outcome<AuthenticatedAgent>> {
  const acting = await authenticateAgent(authentication, { assertion: actorToken, clientId }, { about, trace, permit });
  if (acting.kind === 'denied' || clientAssertion === undefined) return acting;
  const { agent, assertion } = acting.value;
  const refuse = (reason: DenialReason, detail?: string): Denied =>
    denied(reason, { detail, about: { ...about, agentId: agent.agentId }, assertion });

  // The client_id makes another agent's assertion fail before that agent is looked up.
  const credentials = { assertion: clientAssertion, clientId: agent.agentId };
  const client = await authenticateAgent(authentication, credentials, { trace, permit });
  if (client.kind === 'denied') {
    const { reason } = client.denial;
    return refuse(reason, reason === 'actor_client_id_mismatch' ? ANOTHER_AGENT : undefined);
  }
  const { jti, forgetAt, latestForgetAt } = client.value.assertion;
  // One request must not use one assertion twice either.
  if (jti === assertion.jti) return refuse('actor_replayed');
  const used = { ...assertion, clientAssertion: { jti, forgetAt, latestForgetAt } };
  return allowed({ ...acting.value, assertion: used });
}

function newTask(
  { randomness, keepOrigin }: Exchange,
  { agent }: AuthenticatedAgent,
  of: {
    readonly person: Person;
    readonly request: Pick<ExchangeRequest, 'resource' | 'scope'>;
    readonly scope: Scope;
    readonly createdAt: Instant;
  },
): Task {
  const { person, request, scope, createdAt } = of;
  return {
    taskId: makeTaskId(randomness.ulid()),
    agentId: agent.agentId,
    sponsorKey: person.sponsorKey,
    sponsor: person.subject,
    sessionId: person.sessionId,
    parentTaskId: undefined,
    audience: request.resource,
    scope,
    ...(keepOrigin && { origin: { held: person.scope, asked: request.scope } }),
    delegationDepth: ISSUED_DELEGATION_DEPTH,
    createdAt,
    // A whole second, because the token's task.exp is a NumericDate (RFC 7519 §2).
    expiresAt: instantFromSeconds(toSeconds(createdAt) + agent.maxTaskTtl),
    status: undefined,
  };
}
