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
import type { TaskTokenClaims } from './claims.ts';
import { type DecisionParts, decideAccess, routeOf, type Verdict } from './decide-access.ts';
import { issuersOf } from './issuers.ts';
import { type CheckedOptions, checkedIssuers, checkOptions, type ToolServerOptions } from './options.ts';
import { type EnforcedPolicy, enforcedPolicy, type RoutePolicy, scopelessPolicy } from './policy.ts';
import { type Refusal, refusal } from './refusal.ts';
import { harmless } from './span.ts';
import { keepChange } from './tool-server-change.ts';

export type { ApprovalLine } from '../../../../domain/approvals/approval.ts';
export type { Actor } from '../../../../domain/tasks/actor-chain.ts';
export type { AccessEvent } from './access-event.ts';
export type { AccessRequest, AskedFor, Objection } from './access-request.ts';
export type { ApprovalKey } from './approval-key.ts';
export type { ApprovalText, CallToApprove, NotNeeded, ToApprove } from './approval-text.ts';
export { authorizationHeaders } from './bearer-token.ts';
export type { ChainedActor, TaskTokenClaims } from './claims.ts';
export type { IssuerOptions, StatusListOptions, ToolServerOptions } from './options.ts';
export type { EnforcedPolicy, RoutePolicy } from './policy.ts';
export { type Refusal, type RefusalBody, type RefusalReason, refusalReasons } from './refusal.ts';
export type { ControlPlaneSpan, StartSpan } from './span.ts';

export interface ToolServer {
  /** The control plane, the first of several. */
  readonly issuer: string;
  /** All control planes, in the order of the options. */
  readonly issuers: readonly string[];
  readonly audience: string;
  readonly realm: string;
  /** Whether it has a key for requests for approval to each control plane, the option `approvalKey`. */
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
  const { audience, realm, clockSkewSeconds, now } = options;
  const report = reporter(options);
  const shared = { options: { ...options, startSpan: harmless(options.startSpan, report) }, report };
  let issuers = issuersOf(options, shared);
  const enforced = new WeakSet<object>();
  const kept = (policy: EnforcedPolicy): EnforcedPolicy => {
    enforced.add(policy);
    return policy;
  };

  const toolServer: ToolServer = {
    get issuer() {
      return toolServer.issuers[0] ?? '';
    },
    get issuers() {
      return issuers.all.map(({ issuer }) => issuer);
    },
    audience,
    realm,
    get asksForApproval() {
      return issuers.all.every(({ approvals }) => approvals !== undefined);
    },
    policy: (policy) => kept(enforcedPolicy(policy, options)),
    policyForAnyScope: (policy = {}) => kept(scopelessPolicy(policy, options)),
    remainingMs(claims) {
      checkArguments('toolServer.remainingMs', claims, membersOf({ exp: seconds }));
      return (claims.exp + clockSkewSeconds) * 1000 - now();
    },
    async authorize(request) {
      // Read before anything is awaited: a reload of the guard does not change a request under way.
      const parts: DecisionParts = { options, issuers, enforced, report };
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
    issuers = issuersOf(checkedIssuers(changed), shared, issuers);
  });
  return toolServer;
}

/** Resolves with false if the event could not be written. */
async function tell(
  { options, issuers: { areNamed }, report }: Pick<DecisionParts, 'options' | 'issuers' | 'report'>,
  route: string | null,
  verdict: Verdict,
): Promise<boolean> {
  try {
    const reason = verdict.kind === 'refused' ? verdict.reason : null;
    const { signed, approval } = verdict;
    await options.onAccess(accessEvent({ at: options.now(), route, reason, signed, approval, areNamed }));
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
