/**
 * A tool server's side of the contract (specification "Tool-server contract"): decides, for each request, whether the
 * task token that came with it lets an agent act for a person here. Knows no web framework.
 */

import type { JsonObject } from '../../../../domain/tokens/strict-json.ts';
import { accessEvent } from './access-event.ts';
import { bearerToken } from './bearer-token.ts';
import type { TaskTokenClaims } from './claims.ts';
import { controlPlane } from './control-plane.ts';
import { controlPlaneKeys } from './control-plane-keys.ts';
import { introspect } from './introspection.ts';
import { checkOptions, type ToolServerOptions } from './options.ts';
import { type EnforcedPolicy, enforcedPolicy, type RoutePolicy, scopelessPolicy } from './policy.ts';
import { type Refusal, type RefusalDetail, type RefusalReason, refusal } from './refusal.ts';
import { verifyToken } from './verify-token.ts';

export interface ToolServer {
  readonly issuer: string;
  readonly audience: string;
  readonly realm: string;
  /**
   * What a route or tool asks, made when the server starts.
   *
   * @throws TypeError on a policy that asks nothing, or is no policy
   */
  policy(policy: RoutePolicy): EnforcedPolicy;
  /**
   * For what surrounds tools and does nothing by itself, such as a handshake: any good token of this server, whatever
   * its scope. It has a name of its own, since an empty scope in a policy is an error.
   */
  policyForAnyScope(policy?: Omit<RoutePolicy, 'scope'>): EnforcedPolicy;
  /** For how long a token that was let through would be let through still, by its `exp`; in milliseconds. */
  remainingMs(claims: TaskTokenClaims): number;
  /** Decides about one request, and tells `onAccess`. Never throws: whatever goes wrong here is a refusal. */
  authorize(request: AccessRequest): Promise<Access>;
}

export type AccessRequest = {
  /** The route's pattern or the tool's name, for the event: never a URL, whose query may hold a secret. */
  readonly route: string | null;
  /** Or, where none was found, the reason to refuse with once it is known who asks. */
  readonly policy: EnforcedPolicy | 'unknown_route' | 'unknown_tool';
  /** What whoever calls knows beyond the token: a reason refuses. Asked once it is known who it is, and what for. */
  readonly objection?: (claims: TaskTokenClaims) => RefusalReason | undefined;
} & (
  | {
      /** What the Authorization headers say, one entry for each; several are refused. See `authorizationHeaders`. */
      readonly authorization: string | readonly string[] | undefined;
    }
  | {
      /** The bearer token, where somebody else has read the header. */
      readonly token: string | undefined;
    }
);

export type Access = { readonly kind: 'allowed'; readonly claims: TaskTokenClaims } | Refusal;

/** What was found out about a request. */
type Verdict = { readonly signed?: JsonObject } & (
  | { readonly kind: 'allowed'; readonly claims: TaskTokenClaims }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly detail?: RefusalDetail }
);

/** @throws TypeError that says everything that is wrong with the options */
export function createToolServer(given: ToolServerOptions): ToolServer {
  const options = checkOptions(given);
  const { issuer, audience, realm, clockSkewSeconds, now } = options;
  const plane = controlPlane(options);
  const keys = controlPlaneKeys(plane, now);
  const enforced = new WeakSet<object>();

  async function judge(request: AccessRequest): Promise<Verdict> {
    const policy = policyOf(request);
    // 1. A token that this control plane signed, for this server.
    const text = 'token' in request ? request.token : bearerToken(request.authorization);
    if (text === undefined || text === '') return { kind: 'refused', reason: 'missing_token' };
    const seconds = Math.floor(now() / 1000);
    const token = await verifyToken(keys, text, { issuer, audience, clockSkewSeconds, now: seconds });
    if (token.kind === 'refused') return token;
    const { claims, signed } = token;
    const refused = (reason: RefusalReason, detail: RefusalDetail = {}) =>
      ({ kind: 'refused', reason, detail, signed }) as const;

    // 2. Who acts, and through how many hands. Before this point a stranger learns nothing of which routes there are.
    const { requireActor, maxDelegationDepth } = typeof policy === 'string' ? options : policy;
    if (claims.act === undefined && requireActor) return refused('no_actor');
    if (claims.act !== undefined && claims.act.depth > maxDelegationDepth) return refused('delegation_too_deep');

    // 3. What the route asks.
    if (typeof policy === 'string') return refused(policy);
    const missing = policy.scope.filter((name) => !claims.scope.includes(name));
    if (missing.length > 0) return refused('insufficient_scope', { missing });
    const objection = request.objection?.(claims);
    if (objection !== undefined) return refused(objection);

    // 4. Whether it is good right now. Last: nobody is asked about a token that is refused anyway.
    if (policy.highRisk || claims.introspectRequired) {
      const answer = await introspect(plane, { text, sub: claims.sub, jti: claims.jti });
      if (answer.kind === 'unavailable') return refused('introspection_unavailable', answer);
      if (answer.kind === 'not_active') return refused('not_active', answer);
    }
    return { kind: 'allowed', claims, signed };
  }

  function policyOf({ policy }: AccessRequest): AccessRequest['policy'] {
    if (policy === 'unknown_route' || policy === 'unknown_tool' || enforced.has(policy)) return policy;
    throw new TypeError('The policy was not made by this tool server.');
  }

  /** Whether the event was taken. */
  async function tell(route: string | null, verdict: Verdict): Promise<boolean> {
    try {
      const reason = verdict.kind === 'refused' ? verdict.reason : null;
      await options.onAccess(accessEvent({ at: now(), route, reason, signed: verdict.signed }));
      return true;
    } catch (error) {
      report(error);
      return false;
    }
  }

  function report(error: unknown): void {
    try {
      options.onError(error);
    } catch {
      // There is nobody left to tell, and the refusal still has to be answered.
    }
  }

  function kept(policy: EnforcedPolicy): EnforcedPolicy {
    enforced.add(policy);
    return policy;
  }

  return {
    ...{ issuer, audience, realm },
    policy: (policy) => kept(enforcedPolicy(policy, options)),
    policyForAnyScope: (policy = {}) => kept(scopelessPolicy(policy, options)),
    remainingMs: ({ exp }) => (exp + clockSkewSeconds) * 1000 - now(),
    async authorize(request) {
      let verdict: Verdict;
      try {
        verdict = await judge(request);
      } catch (error) {
        report(error);
        verdict = { kind: 'refused', reason: 'internal_error' };
      }
      const told = await tell(request.route, verdict);
      if (verdict.kind === 'refused') return refusal(verdict.reason, realm, verdict.detail);
      // Nobody acts here without a trace.
      return told ? { kind: 'allowed', claims: verdict.claims } : refusal('internal_error', realm);
    },
  };
}
