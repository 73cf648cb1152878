/**
 * The decision about one request (access-request.ts):
 *
 * 1. bearer-token.ts reads the token. issuers.ts chooses its control plane. verify-token.ts checks its signature
 *    (control-plane-keys.ts) and its claims (claims.ts).
 * 2. The claims must satisfy the route's policy (policy.ts).
 * 3. status-lists.ts or an introspection (control-plane.ts) says whether the task has ended.
 * 4. If the policy asks for an approval, approvals.ts asks the control plane. It sends the description of the call
 *    (approval-text.ts), and its digest (call-digest.ts). If the call needs none, step 3 decides as under a policy without it.
 */

import type { Claims } from '../../../../domain/tokens/claims.ts';
import type { AccessRequest, AskedFor, Objection } from './access-request.ts';
import type { NotNeeded } from './approval-text.ts';
import { approvalFault } from './approvals.ts';
import { bearerToken } from './bearer-token.ts';
import type { TaskTokenClaims } from './claims.ts';
import { introspect } from './control-plane.ts';
import type { Issuer, Issuers } from './issuers.ts';
import type { CheckedOptions } from './options.ts';
import { actorFault, type EnforcedPolicy, missingScopes } from './policy.ts';
import type { RefusalDetail, RefusalReason } from './refusal.ts';
import { verifyToken } from './verify-token.ts';

/** The decision about a request, with the signed claims, the route and `not_needed` for its event. */
export type Verdict = { readonly signed?: Claims; readonly route?: string | null; readonly approval?: NotNeeded } & (
  | { readonly kind: 'allowed'; readonly claims: TaskTokenClaims }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly detail?: RefusalDetail }
);

export interface DecisionParts {
  readonly options: CheckedOptions;
  readonly issuers: Issuers;
  /** The policies that this tool server made. */
  readonly enforced: WeakSet<object>;
  readonly report: (error: unknown) => void;
}

/** Decides in the order of the numbered steps. @throws TypeError for a policy of another tool server */
export async function decideAccess(parts: DecisionParts, request: AccessRequest): Promise<Verdict> {
  const { issuers, options } = parts;
  const { audience, clockSkewSeconds } = options;
  if (policyOf(parts, request.policy) === 'malformed_request') return { kind: 'refused', reason: 'malformed_request' };

  // 1. A token that its control plane signed, for this server.
  const text = 'token' in request ? request.token : bearerToken(request.authorization);
  if (text === undefined || text === '') return { kind: 'refused', reason: 'missing_token' };
  const seconds = Math.floor(options.now() / 1000);
  const token = await verifyToken(issuers, text, { audience, clockSkewSeconds, now: seconds }, request.headers);
  if (token.kind === 'refused') return token;

  // 2. What the request asks for. Before this point no byte of its body is read.
  const { signed } = token;
  const asked = request.asks === undefined ? request : await request.asks(token.claims);
  if (typeof asked === 'string') return { kind: 'refused', reason: asked, signed };
  const verdict = await judgeAsked(parts, request, asked, { ...token, text });
  return { ...verdict, signed, route: routeOf(asked) };
}

interface VerifiedToken {
  readonly text: string;
  readonly claims: TaskTokenClaims;
  readonly signed: Claims;
  readonly issuer: Issuer;
}

async function judgeAsked(
  parts: DecisionParts,
  { objection: object, headers }: Pick<AccessRequest, 'objection' | 'headers'>,
  { policy: given, lastCheck, approval: describe }: AskedFor,
  token: VerifiedToken,
): Promise<Verdict> {
  const { text, claims, signed, issuer } = token;
  const { options, report } = parts;
  const policy = policyOf(parts, given);
  const refused = (reason: RefusalReason, detail: RefusalDetail = {}) => ({ kind: 'refused', reason, detail }) as const;
  const refusedFor = (objection: NonNullable<Objection>) =>
    typeof objection === 'string' ? refused(objection) : refused(objection.reason, objection.detail);

  // 3. Who acts, and the depth of the delegation. No earlier refusal shows which routes exist.
  const actor = actorFault(typeof policy === 'string' ? options : policy, claims);
  if (actor !== undefined) return refused(actor);

  // 4. The route's policy.
  if (typeof policy === 'string') return refused(policy);
  const missing = missingScopes(policy, claims);
  if (missing.length > 0) return refused('insufficient_scope', { missing });
  const objection = await object?.(claims);
  if (objection !== undefined) return refusedFor(objection);

  // 5. The status list, then introspection. They come late, so that no request is sent for a token that is refused anyway. A
  // request for approval says the same as an introspection.
  const ended =
    describe === undefined
      ? await endedFault(policy, token, headers)
      : (await issuer.listing?.lists.statusOf(signed))?.kind === 'not_active' && ({ reason: 'not_active' } as const);
  if (ended) return refused(ended.reason, ended.detail);

  // 6. The caller's last check. It comes after introspection, so that it never runs for a task that has ended. Before an
  // approval it may: no person is asked about a call that it refuses.
  try {
    const late = await lastCheck?.(claims);
    if (late !== undefined) return refusedFor(late);
  } catch (error) {
    report(error);
    return refused('policy_unavailable');
  }

  // 7. The person's approval. After `granted` nothing may refuse the request, because the approval is used up.
  const fault =
    describe && (await approvalFault({ asking: issuer.approvals, report }, { describe, headers }, claims, text));
  if (fault === undefined) return { kind: 'allowed', claims };
  if (fault !== 'not_needed') return refused(fault.reason, fault.detail);
  const late = await endedFault(policy, token, headers);
  return { ...(late ? refused(late.reason, late.detail) : { kind: 'allowed', claims }), approval: fault };
}

/** Why the task of a token may not act any more, or why that is unknown, by status list and introspection. */
async function endedFault(
  { highRisk }: Pick<EnforcedPolicy, 'highRisk'>,
  { text, claims, signed, issuer: { plane, listing } }: VerifiedToken,
  headers: AccessRequest['headers'],
): Promise<{ readonly reason: RefusalReason; readonly detail?: RefusalDetail } | undefined> {
  const listed = await listing?.lists.statusOf(signed);
  if (listed?.kind === 'not_active') return { reason: 'not_active' };
  const isHighRisk = highRisk || claims.introspectRequired;
  if (listed?.kind === 'unknown' && !isHighRisk && listing?.onStale === 'refuse') {
    return { reason: 'status_unavailable', detail: listed };
  }
  if (!isHighRisk && listed?.kind !== 'ask' && listed?.kind !== 'unknown') return undefined;
  const answer = await introspect(plane, { text, iss: claims.iss, sub: claims.sub, jti: claims.jti }, headers);
  if (answer.kind === 'unavailable') return { reason: 'introspection_unavailable', detail: answer };
  return answer.kind === 'not_active' ? { reason: 'not_active', detail: answer } : undefined;
}

/** @throws TypeError if another tool server made the policy */
function policyOf({ enforced }: Pick<DecisionParts, 'enforced'>, policy: AskedFor['policy']): AskedFor['policy'] {
  if (typeof policy === 'string' || enforced.has(policy)) return policy;
  throw new TypeError('The policy was not made by this tool server.');
}

/** The route for the event. A request with wrong arguments is refused, and has an event too. */
export function routeOf(request: Pick<AskedFor, 'route'> | undefined): string | null {
  return typeof request?.route === 'string' ? request.route : null;
}
