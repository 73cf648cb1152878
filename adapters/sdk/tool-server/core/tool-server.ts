/**
 * The exports of `@mandate/tool-server`: the tool-server contract (specification), without a web framework. For each
 * request, a tool server decides whether the task token allows an agent to act for a person.
 *
 * decide-access.ts has the steps of a decision. access-event.ts makes its event, and each refusal is an entry of refusal.ts. The
 * folders beside this one bind the decision to Express, Fastify and MCP.
 */

import { checkArguments, membersOf, must } from '../../arguments.ts';
import { accessEvent } from './access-event.ts';
import { type AccessRequest, accessRequest } from './access-request.ts';
import type { ApprovalKey } from './approval-key.ts';
import { approvals } from './approvals.ts';
import type { TaskTokenClaims } from './claims.ts';
import { controlPlane } from './control-plane.ts';
import { controlPlaneKeys } from './control-plane-keys.ts';
import { type DecisionParts, decideAccess, type Listing, routeOf, type Verdict } from './decide-access.ts';
import {
  type CheckedOptions,
  checkOptions,
  type StatusListOptions,
  type ToolServerOptions,
  withStatusListDefaults,
} from './options.ts';
import { type EnforcedPolicy, enforcedPolicy, type RoutePolicy, scopelessPolicy } from './policy.ts';
import { type Refusal, refusal } from './refusal.ts';
import { harmless } from './span.ts';
import { statusLists } from './status-lists.ts';
import { keepChange } from './tool-server-change.ts';

export type { ApprovalLine } from '../../../../domain/approvals/approval.ts';
export type { Actor } from '../../../../domain/tasks/actor-chain.ts';
export type { AccessEvent } from './access-event.ts';
export type { AccessRequest, AskedFor, Objection } from './access-request.ts';
export type { ApprovalKey } from './approval-key.ts';
export type { ApprovalText, CallToApprove, NotNeeded, ToApprove } from './approval-text.ts';
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

/**
 * @throws TypeError that lists every wrong option
 *
 * @example
 * ```ts
 * import { createToolServer } from '@mandate/tool-server';
 *
 * const toolServer = createToolServer({ issuer, audience: resource });
 * const policy = toolServer.policy({ scope: ['jira:read'] });
 * const { authorization } = request.headers;
 * const access = await toolServer.authorize({ route: 'GET /issues', policy, authorization });
 * console.log(access.kind === 'allowed' ? access.claims.sub : access.reason);
 * ```
 */
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
  const parts: DecisionParts = {
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
        verdict = await decideAccess(parts, request);
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

/** Resolves with false if the event could not be written. */
async function tell(
  { options, report }: Pick<DecisionParts, 'options' | 'report'>,
  route: string | null,
  verdict: Verdict,
): Promise<boolean> {
  try {
    const reason = verdict.kind === 'refused' ? verdict.reason : null;
    const { signed, approval } = verdict;
    await options.onAccess(accessEvent({ at: options.now(), route, reason, signed, approval }));
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
