/**
 * A delegation offer: the JWT with which the agent of a task hands work to another agent (docs/sub-agents.md). It is no access
 * token: only the named agent can use it, once, at the token endpoint.
 *
 * hand-over.ts says who may delegate to whom, and under which tasks.
 */

import { type AgentId, agentSubject, parseAgentSubject, parseTaskId, type TaskId } from '../identifiers.ts';
import { type Instant, instantFromSeconds, plusSeconds, toSeconds } from '../instant.ts';
import { formatScope, parseScope, type Scope } from '../scope.ts';
import { actorChain } from '../tasks/actor-chain.ts';
import type { Task } from '../tasks/task.ts';
import { hasExactly, isActorOf, isScopeWithin, isTaskOf, type TaskTerms, taskClaim } from '../tasks/token-of-task.ts';
import type { Claims } from '../tokens/claims.ts';
import { CLOCK_SKEW_SECONDS, hasType, readCompactJws } from '../tokens/compact-jws.ts';
import { isJsonObject, type JsonObject, member, textMember } from '../tokens/strict-json.ts';

/** The `typ` of an offer: no reader of access tokens accepts it (RFC 8725 §3.11). */
export const OFFER_TYPE = 'delegation-offer+jwt';

/** Seconds: the upper limit of `Service:Delegation:OfferTtl`. */
export const MAX_OFFER_TTL = 300;

export interface Offer {
  /** `jti`. */
  readonly offerId: string;
  /** The task that delegates. */
  readonly taskId: TaskId;
  /** The agent that may take it up. */
  readonly child: AgentId;
  /** `act.instance` of the agent that delegates. */
  readonly instance: string | undefined;
  readonly audience: string;
  readonly scope: Scope;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
}

const OFFER_ID = /^offer_[0-9A-HJKMNP-TV-Z]{26}$/;

export function makeOfferId(ulid: string): string {
  return `offer_${ulid}`;
}

interface OfferClaims {
  readonly claims: JsonObject;
  /** Seconds. */
  readonly expiresIn: number;
}

/** @param offer.ttl seconds; the offer ends at the latest with its task */
export function offerClaims(offer: {
  readonly issuer: string;
  readonly offerId: string;
  readonly task: Task;
  readonly instance: string | undefined;
  readonly child: AgentId;
  readonly scope: Scope;
  readonly now: Instant;
  readonly ttl: number;
}): OfferClaims {
  const { issuer, task } = offer;
  const issuedAt = toSeconds(offer.now);
  const expiry = Math.min(toSeconds(plusSeconds(offer.now, offer.ttl)), toSeconds(task.expiresAt));
  const claims: JsonObject = {
    iss: issuer,
    sub: task.sponsor,
    aud: issuer,
    exp: expiry,
    iat: issuedAt,
    jti: offer.offerId,
    scope: formatScope(offer.scope),
    resource: task.audience,
    act: actorChain(task, offer.instance),
    may_act: { sub: agentSubject(offer.child) },
    task: taskClaim(task),
  };
  return { claims, expiresIn: expiry - issuedAt };
}

/** Whether the text is a JWT that calls itself an offer. Its signature is not examined. */
export function looksLikeOffer(text: string): boolean {
  const jws = readCompactJws(text);
  return jws !== undefined && hasType(jws, [OFFER_TYPE]);
}

/** Reads the claims of an offer whose signature was verified; `undefined` if one is missing or malformed. */
export function readOffer({ tokenId, expiry, issuedAt, json }: Claims): Offer | undefined {
  const [task, mayAct, actor] = [member(json, 'task'), member(json, 'may_act'), member(json, 'act')];
  if (!isJsonObject(task) || !isJsonObject(mayAct) || !isJsonObject(actor)) return undefined;
  const taskId = parseTaskId(textMember(task, 'id') ?? '');
  const to = textMember(mayAct, 'sub');
  const child = parseAgentSubject(to ?? '');
  const scope = parseScope(textMember(json, 'scope') ?? '');
  const audience = textMember(json, 'resource');
  if (tokenId === undefined || !OFFER_ID.test(tokenId) || taskId === undefined || child === undefined) return undefined;
  if (expiry === undefined || issuedAt === undefined || scope === undefined || audience === undefined) return undefined;
  return {
    offerId: tokenId,
    taskId,
    child,
    instance: textMember(actor, 'instance'),
    audience,
    scope,
    issuedAt: instantFromSeconds(issuedAt),
    expiresAt: instantFromSeconds(expiry),
  };
}

/** Every claim that the service writes. */
const CLAIMS: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'jti',
  'scope',
  'resource',
  'act',
  'may_act',
  'task',
]);

/**
 * Whether the service may have made the offer for this task: another program may have signed it, if the signing key was disclosed
 * (docs/decisions/0035-introspection-compares-with-the-task.md). No claim may say more than the task.
 */
export function isOfferOf(
  task: TaskTerms,
  { child }: Offer,
  { json, expiry, issuedAt }: Claims,
  issuer: string,
): boolean {
  return (
    member(json, 'iss') === issuer &&
    member(json, 'aud') === issuer &&
    member(json, 'sub') === task.sponsor &&
    member(json, 'resource') === task.audience &&
    isActorOf(task, member(json, 'act')) &&
    isTaskOf(task, member(json, 'task')) &&
    isScopeWithin(member(json, 'scope'), task.scope) &&
    hasExactly(member(json, 'may_act'), { sub: agentSubject(child) }) &&
    expiry !== undefined &&
    issuedAt !== undefined &&
    expiry <= toSeconds(task.expiresAt) &&
    expiry - issuedAt <= MAX_OFFER_TTL &&
    Object.keys(json).every((name) => CLAIMS.has(name))
  );
}

/** Until when the `jti` of an offer that was taken up is kept, so that it is used once. */
export interface SpentOffer {
  readonly offerId: string;
  /** From this time the offer has expired by every clock. */
  readonly forgetAt: Instant;
  /** The latest `forgetAt` that its `iat` allows. */
  readonly latestForgetAt: Instant;
}

export function spentOffer({ offerId, issuedAt, expiresAt }: Offer): SpentOffer {
  return {
    offerId,
    forgetAt: plusSeconds(expiresAt, CLOCK_SKEW_SECONDS),
    latestForgetAt: plusSeconds(issuedAt, MAX_OFFER_TTL + CLOCK_SKEW_SECONDS),
  };
}
