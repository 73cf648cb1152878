/**
 * The exports of `@mandate/tool-server`: the tool-server contract (specification), without a web framework. For each
 * request, a tool server decides whether the task token allows an agent to act for a person.
 *
 * The steps of a decision about a request (access-request.ts):
 *
 * 1. bearer-token.ts reads the token. verify-token.ts checks its signature (control-plane-keys.ts) and its claims (claims.ts).
 * 2. The claims must satisfy the route's policy (policy.ts).
 * 3. status-lists.ts or an introspection (control-plane.ts) says whether the task has ended.
 * 4. If the policy asks for an approval, approvals.ts asks the control plane. It sends the description of the call
 *    (approval-text.ts), and its digest (call-digest.ts).
 * 5. access-event.ts makes the event. Each refusal is an entry of refusal.ts.
 *
 * The folders beside this one bind the decision to Express, Fastify and MCP.
 */

import type { Claims } from '../../../../domain/tokens/claims.ts';
import { checkArguments, membersOf, must } from '../../arguments.ts';
import { accessEvent } from './access-event.ts';
import { type AccessRequest, type AskedFor, accessRequest } from './access-request.ts';
import type { ApprovalKey } from './approval-key.ts';
import { type Approvals, approvalFault, approvals } from './approvals.ts';
import { bearerToken } from './bearer-token.ts';
import type { TaskTokenClaims } from './claims.ts';
import { type ControlPlane, controlPlane, introspect } from './control-plane.ts';
import { type ControlPlaneKeys, controlPlaneKeys } from './control-plane-keys.ts';
import {
  type CheckedOptions,
  checkOptions,
  type StatusListOptions,
  type ToolServerOptions,
  withStatusListDefaults,
} from './options.ts';
import { type EnforcedPolicy, enforcedPolicy, type RoutePolicy, scopelessPolicy } from './policy.ts';
import { type Refusal, type RefusalDetail, type RefusalReason, refusal } from './refusal.ts';
import { harmless } from './span.ts';
import { type StatusLists, statusLists } from './status-lists.ts';
import { keepChange } from './tool-server-change.ts';
import { verifyToken } from './verify-token.ts';

export type { ApprovalLine } from '../../../../domain/approvals/approval.ts';
export type { Actor } from '../../../../domain/tasks/actor-chain.ts';
export type { AccessEvent } from './access-event.ts';
export type { AccessRequest, AskedFor } from './access-request.ts';
export type { ApprovalKey } from './approval-key.ts';
export type { ApprovalText, CallToApprove } from './approval-text.ts';
export { authorizationHeaders } from './bearer-token.ts';
export type { TaskTokenClaims } from './claims.ts';
export type { StatusListOptions, ToolServerOptions } from './options.ts';
export type { EnforcedPolicy, RoutePolicy } from './policy.ts';
export { type Refusal, type RefusalBody, type RefusalReason, refusalReasons } from './refusal.ts';
export type { ControlPlaneSpan, StartSpan } from './span.ts';

export interface ToolServer {
  readonly issuer: string;
  readonly audience: string;
  readonly realm: string;
  /** Whether it has a key for requests for approval, the option `approvalKey`. */
  readonly asksForApproval: boolean;
  /**
   * Checks and freezes the policy of a route or tool. Call it when the server starts.
   *
   * @throws TypeError for a policy that is invalid or has no scope
   */
  policy(policy: RoutePolicy): EnforcedPolicy;
  /**
   * A policy that accepts every valid token for this server, whatever its scope. It is meant for protocol messages without
   * an effect, for example a handshake. It has its own method, because an empty scope in a policy is an error.
   */
  policyForAnyScope(policy?: Omit<RoutePolicy, 'scope'>): EnforcedPolicy;
  /** Milliseconds until an accepted token expires, including the clock skew. */
  remainingMs(claims: TaskTokenClaims): number;
  /**
   * Decides about one request, and calls `onAccess`. Never throws: an internal error is a refusal. So is a wrong argument,
   * whose TypeError goes to `onError`.
   */
  authorize(request: AccessRequest): Promise<Access>;
}

export type Access = { readonly kind: 'allowed'; readonly claims: TaskTokenClaims } | Refusal;

const seconds = must('be a number of seconds', Number.isFinite);

/** The decision about a request, with the signed claims and the route for its event. */
type Verdict = { readonly signed?: Claims; readonly route?: string | null } & (
  | { readonly kind: 'allowed'; readonly claims: TaskTokenClaims }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly detail?: RefusalDetail }
);

/** The status lists, and the options that they are read with. */
interface Listing extends Required<StatusListOptions> {
  readonly lists: StatusLists;
}

interface Parts {
  readonly options: CheckedOptions;
  readonly plane: ControlPlane;
  readonly keys: ControlPlaneKeys;
  /** `undefined` without the option `statusList`. The guard changes it. */
  listing: Listing | undefined;
  /** `undefined` without the option `approvalKey`. The guard changes it. */
  approvals: Approvals | undefined;
  /** The policies that this tool server made. */
  readonly enforced: WeakSet<object>;
  readonly report: (error: unknown) => void;
}

/** @throws TypeError that lists every wrong option */
export function createToolServer(given: ToolServerOptions): ToolServer {
  const options = checkOptions(given);
  const { issuer, audience, realm, clockSkewSeconds, now, statusList, approvalKey } = options;
  const report = reporter(options);
  const plane = controlPlane({ ...options, startSpan: harmless(options.startSpan, report) });
  const keys = controlPlaneKeys(plane, now);
  const listingOf = (given: Required<StatusListOptions>): Listing => {
    return { ...given, lists: statusLists({ plane, keys, options, maxAgeMs: given.maxAgeMs, report }) };
  };
  const askedWith = (key: ApprovalKey | undefined) => key && approvals({ key, plane, options, report });
  const enforced = new WeakSet<object>();
  const parts: Parts = {
    options,
    plane,
    keys,
    listing: statusList && listingOf(statusList),
    approvals: askedWith(approvalKey),
    enforced,
    report,
  };
  const kept = (policy: EnforcedPolicy): EnforcedPolicy => {
    enforced.add(policy);
    return policy;
  };

  const toolServer: ToolServer = {
    issuer,
    audience,
    realm,
    get asksForApproval() {
      return parts.approvals !== undefined;
    },
    policy: (policy) => kept(enforcedPolicy(policy, options)),
    policyForAnyScope: (policy = {}) => kept(scopelessPolicy(policy, options)),
    remainingMs(claims) {
      checkArguments('toolServer.remainingMs', claims, membersOf({ exp: seconds }));
      return (claims.exp + clockSkewSeconds) * 1000 - now();
    },
    async authorize(request) {
      let verdict: Verdict;
      try {
        checkArguments('toolServer.authorize', request, accessRequest);
        verdict = await judge(parts, request);
      } catch (error) {
        report(error);
        verdict = { kind: 'refused', reason: 'internal_error' };
      }
      const told = await tell(parts, verdict.route === undefined ? routeOf(request) : verdict.route, verdict);
      if (verdict.kind === 'refused') return refusal(verdict.reason, realm, verdict.detail);
      // Without its event a request is not allowed.
      return told ? { kind: 'allowed', claims: verdict.claims } : refusal('internal_error', realm);
    },
  };
  keepChange(toolServer, (changed) => {
    const next = changed.statusList && withStatusListDefaults(changed.statusList);
    const before = parts.listing;
    parts.listing = next && (before?.maxAgeMs === next.maxAgeMs ? { ...before, ...next } : listingOf(next));
    parts.approvals = askedWith(changed.approvalKey);
  });
  return toolServer;
}

async function judge(parts: Parts, request: AccessRequest): Promise<Verdict> {
  const { keys, options } = parts;
  // Read before anything is awaited: a reload of the guard changes the parts, and not a request under way.
  const now: Changeable = { listing: parts.listing, approvals: parts.approvals };
  const { issuer, audience, clockSkewSeconds } = options;
  if (policyOf(parts, request.policy) === 'malformed_request') return { kind: 'refused', reason: 'malformed_request' };

  // 1. A token that this control plane signed, for this server.
  const text = 'token' in request ? request.token : bearerToken(request.authorization);
  if (text === undefined || text === '') return { kind: 'refused', reason: 'missing_token' };
  const seconds = Math.floor(options.now() / 1000);
  const token = await verifyToken(keys, text, { issuer, audience, clockSkewSeconds, now: seconds }, request.headers);
  if (token.kind === 'refused') return token;

  // 2. What the request asks for. Before this point no byte of its body is read.
  const { signed } = token;
  const asked = request.asks === undefined ? request : await request.asks(token.claims);
  if (typeof asked === 'string') return { kind: 'refused', reason: asked, signed };
  const verdict = await judgeAsked({ ...parts, ...now }, request, asked, { ...token, text });
  return { ...verdict, signed, route: routeOf(asked) };
}

/** What a reload of the guard changes. */
type Changeable = Pick<Parts, 'listing' | 'approvals'>;

interface VerifiedToken {
  readonly text: string;
  readonly claims: TaskTokenClaims;
  readonly signed: Claims;
}

async function judgeAsked(
  parts: Parts,
  { objection: object, headers }: Pick<AccessRequest, 'objection' | 'headers'>,
  { policy: given, lastCheck, approval: describe }: AskedFor,
  { text, claims, signed }: VerifiedToken,
): Promise<Verdict> {
  const { options, plane, listing, approvals: asking, report } = parts;
  const policy = policyOf(parts, given);
  const refused = (reason: RefusalReason, detail: RefusalDetail = {}) => ({ kind: 'refused', reason, detail }) as const;

  // 3. Who acts, and the depth of the delegation. No earlier refusal shows which routes exist.
  const { requireActor, maxDelegationDepth } = typeof policy === 'string' ? options : policy;
  if (claims.act === undefined && requireActor) return refused('no_actor');
  if (claims.act !== undefined && claims.act.depth > maxDelegationDepth) return refused('delegation_too_deep');

  // 4. The route's policy.
  if (typeof policy === 'string') return refused(policy);
  const missing = policy.scope.filter((name) => !claims.scope.includes(name));
  if (missing.length > 0) return refused('insufficient_scope', { missing });
  const objection = object?.(claims);
  if (objection !== undefined) return refused(objection);

  // 5. The status list, then introspection. They come late, so that no request is sent for a token that is refused anyway.
  const listed = await listing?.lists.statusOf(signed);
  if (listed?.kind === 'not_active') return refused('not_active');
  // A request for approval says the same as an introspection.
  const isHighRisk = policy.highRisk || claims.introspectRequired || describe !== undefined;
  if (listed?.kind === 'unknown' && !isHighRisk && listing?.onStale === 'refuse') {
    return refused('status_unavailable', listed);
  }
  const isAsked = isHighRisk || listed?.kind === 'ask' || listed?.kind === 'unknown';
  if (isAsked && describe === undefined) {
    const answer = await introspect(plane, { text, sub: claims.sub, jti: claims.jti }, headers);
    if (answer.kind === 'unavailable') return refused('introspection_unavailable', answer);
    if (answer.kind === 'not_active') return refused('not_active', answer);
  }

  // 6. The caller's last check. It comes after introspection, so that it never runs for a task that has ended. Before an
  // approval it may: no person is asked about a call that it refuses.
  try {
    const reason = await lastCheck?.(claims);
    if (reason !== undefined) return refused(reason);
  } catch (error) {
    report(error);
    return refused('policy_unavailable');
  }

  // 7. The person's approval. After `granted` nothing may refuse the request, because the approval is used up.
  const fault = describe && (await approvalFault({ asking, report }, { describe, headers }, claims, text));
  return fault === undefined ? { kind: 'allowed', claims } : refused(fault.reason, fault.detail);
}

/** @throws TypeError if another tool server made the policy */
function policyOf({ enforced }: Pick<Parts, 'enforced'>, policy: AskedFor['policy']): AskedFor['policy'] {
  if (typeof policy === 'string' || enforced.has(policy)) return policy;
  throw new TypeError('The policy was not made by this tool server.');
}

/** The route for the event. A request with wrong arguments is refused, and has an event too. */
function routeOf(request: Pick<AskedFor, 'route'> | undefined): string | null {
  return typeof request?.route === 'string' ? request.route : null;
}

/** Resolves with false if the event could not be written. */
async function tell({ options, report }: Parts, route: string | null, verdict: Verdict): Promise<boolean> {
  try {
    const reason = verdict.kind === 'refused' ? verdict.reason : null;
    await options.onAccess(accessEvent({ at: options.now(), route, reason, signed: verdict.signed }));
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

/** An error of `onError` is dropped, because the refusal must still be answered. */
function reporter(options: CheckedOptions): (error: unknown) => void {
  return (error) => {
    try {
      options.onError(error);
    } catch {}
  };
}
