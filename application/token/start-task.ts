/**
 * Starts a task for a person: the sponsor check, the policy and the issue (specification "Exchange" rules 1, 2, 4, 7 and
 * 8). Each way to start a task finds out who asks and for whom, and ends here. This path does not know which way it was.
 */

import { type CodeHash, requestDetail } from '../../domain/authorization/authorization.ts';
import { laterOf } from '../../domain/clocks.ts';
import type { DenialReason } from '../../domain/denial.ts';
import { makeTaskId, type RequestId, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../../domain/instant.ts';
import { takenDetail } from '../../domain/ledger/delegation-records.ts';
import { formatScope, intersectScopes, type Scope } from '../../domain/scope.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { GRANT_SECRET_BYTES, makeGrant, makeRotatingGrant, readGrant } from '../../domain/tasks/grant.ts';
import { isEnding } from '../../domain/tasks/lifetime.ts';
import { judgePolicy, ROOT_DELEGATION_DEPTH } from '../../domain/tasks/policy.ts';
import type { GrantHash, Task } from '../../domain/tasks/task.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { AuthenticatedClient } from '../authentication/authenticate-client.ts';
import { checkSponsor, type SponsorCheck } from '../authentication/check-sponsor.ts';
import { openTask, type TaskOpening } from '../decisions/open-task.ts';
import { allowed, type Denial, type Denied, denied, type Outcome } from '../outcome.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, Digest, SharedTime } from '../ports/runtime.ts';
import { type ChainChecking, chainSentence, judgeAncestors } from './chain.ts';
import { type DelegatedStart, delegatorsOf, takenOffer } from './delegated-start.ts';
import { type IssuedToken, type Minting, mint, tokenEntry } from './mint.ts';
import { openListedTask } from './open-listed-task.ts';
import { statePurpose } from './state-purpose.ts';

/** What every way to start a task ends in: for whom the agent acts, and what it asks. */
export interface Invocation {
  /** Who the person is, from which session, and the scopes that they hold. */
  readonly person: Person;
  readonly audience: string;
  readonly requested: Scope;
  /** Why the agent starts the task, in its own words. */
  readonly purpose: string | undefined;
  /** Set if the person allowed it at `/oauth2/authorize`. */
  readonly authorized?: AuthorizedStart;
  /** Set if another agent delegates it. The scopes of `person` are then those of its offer. */
  readonly delegated?: DelegatedStart;
}

/** What the person allowed, and the code that stands for it. */
export interface AuthorizedStart {
  readonly requestId: RequestId;
  readonly codeHash: CodeHash;
  /** The person's answer names it. */
  readonly taskId: TaskId;
  /** Whether the client redeemed the code by its `client_id` alone. */
  readonly isRotating: boolean;
  /** The scopes that the client asked for, before the person chose from them. */
  readonly asked: Scope;
  /** The task ends by then, in any case. */
  readonly endsBy: Instant;
}

export interface TaskStarting extends SponsorCheck, Minting, Omit<ChainChecking, 'tasks' | 'clock'> {
  readonly clock: Clock;
  readonly decisions: Decisions;
  readonly digest: Digest;
  /** The earlier of two clocks dates the task. */
  readonly sharedTime: SharedTime;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
  /** Whether the task keeps what its scope was chosen from, for the console. */
  readonly keepOrigin: boolean;
}

/** The provider is queried for every new task, without a cache (specification "Exchange" rule 4). */
const FRESH = 0;

/** `conflict`: the agent's registration or the code changed, and nothing was written. Check the whole request again. */
export async function startTask(
  service: TaskStarting,
  asking: AuthenticatedClient,
  invocation: Invocation,
  trace?: Trace,
): Promise<Outcome<IssuedToken> | 'conflict'> {
  const { agent, assertion } = asking;
  const { person, audience, requested } = invocation;
  const { sponsorKey } = person;
  const { authorized, delegated } = invocation;
  const about = {
    audience,
    scope: formatScope(requested),
    agentId: agent.agentId,
    sponsor: person.subject,
    ...(authorized && { detail: requestDetail(authorized) }),
    ...(delegated && { detail: takenDetail(delegated.offer.offerId, delegated.offer.taskId) }),
  };
  const refuse = (reason: DenialReason, more: Pick<Denial, 'detail' | 'sponsorKey'> = {}): Denied =>
    denied(reason, { ...more, about, assertion, spentCode: authorized?.requestId });

  // 1. Check the sponsor. The deciding transaction below reads the blocks again.
  const sponsorDenial = await checkSponsor(service, person, FRESH, trace);
  if (sponsorDenial !== undefined) return refuse(sponsorDenial);

  // 2. Evaluate the policy.
  const delegatedBy = delegated === undefined ? [] : delegatorsOf(delegated);
  const above = delegated && (await judgeAncestors(service, { delegatedBy }, delegated.above, agent));
  if (above?.kind === 'refused') return refuse(above.reason, { sponsorKey, detail: above.detail });
  const { ancestors = [], scope: left = person.scope } = above ?? {};
  const held = intersectScopes(person.scope, left);
  const policy = judgePolicy(agent, { audience, requested, held, depth: ROOT_DELEGATION_DEPTH + ancestors.length });
  if (policy.kind === 'refused') {
    return refuse(policy.reason, { sponsorKey, detail: delegated && chainSentence(policy.reason) });
  }
  // The earlier clock: with one that is ahead, the task would outlive its agent's limit at every other instance.
  const earliest = await service.sharedTime.earliest();
  // A task begins after the one that delegates it, also where the clock of the replica is behind.
  const createdAt = delegated === undefined ? earliest : laterOf(earliest, delegated.above[0].task.createdAt);
  const task = newTask(service, asking, { invocation, delegatedBy, scope: policy.scope, createdAt });
  if (isEnding(task, task.createdAt)) return refuse('task_ending', { sponsorKey });

  // 3. Issue: task, grant, used assertion and record commit together.
  const delegators = ancestors.map((ancestor) => ancestor.agent);
  const token = mint(service, { ...asking, task, delegators, scope: policy.scope, now: task.createdAt });
  const grant = newGrant(service, authorized?.isRotating ?? false);
  const opening: TaskOpening = {
    task,
    grantHash: grant.hash,
    assertion,
    agentRevision: agent.revision,
    // A logout ends the task that delegates, and with it this one.
    refuseLoggedOut:
      service.refuseLoggedOut && !delegated ? { issuedAt: person.issuedAt, earliest: createdAt } : undefined,
    entry: tokenEntry('token.issued', { at: task.createdAt, task, scope: policy.scope, tokenId: token.tokenId }),
    purpose: statePurpose(service, task, invocation.purpose),
    code: authorized && { requestId: authorized.requestId, hash: authorized.codeHash, rotation: grant.rotation },
    delegation: delegated && takenOffer(service.delegation, delegated, task, ancestors),
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
    case 'narrowed':
    // The code was read before: judged again, it has the reason of its refusal.
    case 'code_unknown':
    case 'code_expired':
    case 'code_spent':
    case 'code_void':
      return 'conflict';
    case 'replayed':
      return refuse('actor_replayed');
    case 'sponsor_blocked':
      return refuse(blockDenial(opened.block));
    case 'logged_out':
      return refuse('subject_logged_out');
    case 'parent_ended':
      return refuse('parent_ended');
    case 'offer_spent':
      return refuse('delegation_offer_spent');
    case 'too_many_children':
      return refuse('too_many_children');
    case 'delegation_refused':
      return refuse('delegation_refused_by_person');
    case 'opened':
      return allowed({
        accessToken: signed ?? (await token.sign(opened.status)),
        expiresIn: token.expiresIn,
        scope: policy.scope,
        refreshToken: grant.token,
        taskId: task.taskId,
        taskExpiresAt: task.expiresAt,
      });
  }
}

interface NewGrant {
  readonly token: string;
  readonly hash: GrantHash;
  /** Of a rotating grant: SHA-256 of the whole token. */
  readonly rotation: GrantHash | undefined;
}

function newGrant({ randomness, digest }: TaskStarting, isRotating: boolean): NewGrant {
  const secret = randomness.secret(GRANT_SECRET_BYTES);
  if (!isRotating) {
    const token = makeGrant(secret);
    return { token, hash: digest(token), rotation: undefined };
  }
  const token = makeRotatingGrant(secret, randomness.secret(GRANT_SECRET_BYTES));
  return { token, hash: digest(readGrant(token).named), rotation: digest(token) };
}

function newTask(
  { randomness, keepOrigin }: TaskStarting,
  { agent }: AuthenticatedClient,
  of: {
    readonly invocation: Invocation;
    readonly delegatedBy: Task['delegatedBy'];
    readonly scope: Scope;
    readonly createdAt: Instant;
  },
): Task {
  const { invocation, delegatedBy, scope, createdAt } = of;
  const { person, authorized, delegated } = invocation;
  // Whole seconds, because the token's task.exp is a NumericDate (RFC 7519 §2).
  const latestEnd = toSeconds(createdAt) + agent.maxTaskTtl;
  const endsBy = authorized?.endsBy ?? delegated?.above[0].task.expiresAt;
  const end = endsBy === undefined ? latestEnd : Math.min(latestEnd, toSeconds(endsBy));
  return {
    taskId: authorized?.taskId ?? makeTaskId(randomness.ulid()),
    agentId: agent.agentId,
    sponsorKey: person.sponsorKey,
    sponsor: person.subject,
    sessionId: person.sessionId,
    delegatedBy,
    audience: invocation.audience,
    scope,
    ...(keepOrigin && { origin: { held: person.scope, asked: authorized?.asked ?? invocation.requested } }),
    delegationDepth: ROOT_DELEGATION_DEPTH + delegatedBy.length,
    createdAt,
    expiresAt: instantFromSeconds(end),
    status: undefined,
  };
}
