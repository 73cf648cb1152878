/**
 * Checks the claims of a task token whose signature is valid, in the order of the contract (specification "Task token
 * claims", "Tool-server contract" 2).
 */

import { hasControl } from '../../../../domain/control-characters.ts';
import { namesAgent } from '../../../../domain/identifiers.ts';
import { parseScope, type Scope } from '../../../../domain/scope.ts';
import { type Actor, readActorChain } from '../../../../domain/tasks/actor-chain.ts';
import type { Claims } from '../../../../domain/tokens/claims.ts';
import { isJsonObject, type JsonObject, member, textMember } from '../../../../domain/tokens/strict-json.ts';
import { anyObject, checkArguments, optionsOf } from '../../arguments.ts';
import type { RefusalReason } from './refusal.ts';

export interface TaskTokenClaims {
  readonly iss: string;
  /** The person. Never an agent. */
  readonly sub: string;
  readonly aud: string;
  /** Seconds since 1970. */
  readonly exp: number;
  readonly iat: number;
  readonly jti: string;
  readonly scope: Scope;
  /** The agent as `agent:<agent_id>`. */
  readonly clientId: string | undefined;
  /** The agent that calls. Absent if a person calls directly. */
  readonly act: Actor | undefined;
  /**
   * The agents of `act` as a list: the one that calls, then the one that handed the work to it, and so on to the agent that got
   * the person's token. Empty if a person calls directly.
   */
  readonly chain: readonly ChainedActor[];
  readonly task: { readonly id: string; readonly exp: number; readonly sponsor: string } | undefined;
  /** Whether every call must be introspected. */
  readonly introspectRequired: boolean;
}

/** An agent of the chain, without those behind it. */
export type ChainedActor = Omit<Actor, 'act'>;

export interface Expected {
  readonly issuer: string;
  readonly audience: string;
  readonly clockSkewSeconds: number;
  /** Seconds since 1970, rounded down. */
  readonly now: number;
}

type ClaimsVerdict =
  | { readonly kind: 'accepted'; readonly claims: TaskTokenClaims }
  | { readonly kind: 'refused'; readonly reason: RefusalReason };

/** The maximum length of a text that the control plane issues. */
const MAX_TEXT_LENGTH = 256;

export function judgeClaims(
  { issuer: iss, expiry: exp, issuedAt: iat, notBefore, json: claims }: Claims,
  expected: Expected,
): ClaimsVerdict {
  const { issuer, audience, clockSkewSeconds: skew, now } = expected;

  if (iss !== issuer) return refused('wrong_issuer');
  // A task token has one audience. With several, one tool server could replay the token at another.
  if (textMember(claims, 'aud') !== audience) return refused('wrong_audience');
  if (exp === undefined || iat === undefined) return refused('malformed_token');
  if (exp + skew <= now) return refused('expired');
  if (Math.max(notBefore ?? iat, iat) > now + skew) return refused('not_yet_valid');

  const jti = usableText(claims, 'jti');
  if (jti === undefined) return refused('malformed_token');
  const sub = usableText(claims, 'sub');
  if (sub === undefined) return refused('no_subject');
  if (namesAgent(sub)) return refused('subject_is_agent');
  const act = readActorChain(member(claims, 'act'));
  if (act === undefined && Object.hasOwn(claims, 'act')) return refused('malformed_token');
  const task = readTask(claims);
  if (task === undefined && Object.hasOwn(claims, 'task')) return refused('malformed_token');

  // A malformed scope grants nothing.
  const scope = parseScope(textMember(claims, 'scope') ?? '') ?? [];
  const clientId = textMember(claims, 'client_id');
  // The control plane writes only `true`. Any other value but `false` requires introspection too, to be safe.
  const asked = member(claims, 'introspect_required');
  const introspectRequired = asked !== undefined && asked !== false;
  const actors = { act, chain: [...chainOf(act)] };
  const accepted = { iss, sub, aud: audience, exp, iat, jti, scope, clientId, ...actors, task, introspectRequired };
  return { kind: 'accepted', claims: accepted };
}

function* chainOf(outermost: Actor | undefined): Generator<ChainedActor> {
  for (let next = outermost; next !== undefined; next = next.act) {
    const { act: _behind, ...actor } = next;
    yield actor;
  }
}

function readTask(claims: JsonObject): TaskTokenClaims['task'] {
  const task = member(claims, 'task');
  if (!isJsonObject(task)) return undefined;
  const id = usableText(task, 'id');
  const sponsor = usableText(task, 'sponsor');
  const exp = member(task, 'exp');
  if (id === undefined || sponsor === undefined || typeof exp !== 'number' || !Number.isSafeInteger(exp)) {
    return undefined;
  }
  return { id, exp, sponsor };
}

function usableText(object: JsonObject, name: string): string | undefined {
  const value = textMember(object, name);
  const usable = value !== undefined && value.trim() !== '' && value.length <= MAX_TEXT_LENGTH && !hasControl(value);
  return usable ? value : undefined;
}

function refused(reason: RefusalReason): ClaimsVerdict {
  return { kind: 'refused', reason };
}

/**
 * The claims of allowed requests, by the request object. Only this module writes them, so neither the request's content
 * nor other middleware can forge them.
 */
const allowed = new WeakMap<object, TaskTokenClaims>();

export function keepClaims(request: object, claims: TaskTokenClaims): void {
  allowed.set(request, claims);
}

/**
 * The verified claims of an allowed request: the person, and the agent that acts.
 *
 * @throws Error if no tool server allowed the request, because its route is not protected
 *
 * @example
 * ```ts
 * import { claimsOf } from '@mandate/tool-server/express';
 *
 * app.get('/me', protect({ scope: ['jira:read'] }), (request, response) => {
 *   const { sub, act } = claimsOf(request);
 *   response.send(`${sub}, through ${act?.sub}`);
 * });
 * ```
 */
export function claimsOf(request: object): TaskTokenClaims {
  checkArguments('claimsOf', { request }, optionsOf({ request: anyObject }));
  const claims = allowed.get(request);
  if (claims === undefined)
    throw new Error('This request was not let through by a tool server: is its route protected?');
  return claims;
}
