/** What a route or a tool asks of a token (specification "Tool-server contract" 3, 4, 6 and "Per route overrides"). */

import { isScopeToken, type Scope } from '../../../../domain/scope.ts';
import { type CheckedOptions, depthProblem, throwProblems, withoutAbsent } from './options.ts';

export interface RoutePolicy {
  /** Every one of these must be in the token; at least one. */
  readonly scope: Scope;
  /** Whether the control plane is asked about the token on every call; false when absent. */
  readonly highRisk?: boolean;
  /** In place of the server's. */
  readonly requireActor?: boolean;
  /** In place of the server's. */
  readonly maxDelegationDepth?: number;
}

declare const checked: unique symbol;
/** A policy that was found to be good, and whole. Only `ToolServer.policy` makes one. */
export type EnforcedPolicy = Required<RoutePolicy> & { readonly [checked]: true };

const CHECKS: { readonly [Name in keyof RoutePolicy]-?: (value: unknown) => string | undefined } = {
  scope: scopeProblem,
  highRisk: flagProblem,
  requireActor: flagProblem,
  maxDelegationDepth: depthProblem,
};

/** A copy, frozen: what is changed afterwards in the object that was given changes nothing here. */
export function enforcedPolicy(
  policy: RoutePolicy,
  server: Pick<CheckedOptions, 'requireActor' | 'maxDelegationDepth'>,
): EnforcedPolicy {
  const { requireActor, maxDelegationDepth } = server;
  const whole = { highRisk: false, requireActor, maxDelegationDepth, ...withoutAbsent(policy) };
  throwProblems('A policy', whole, CHECKS);
  return Object.freeze({ ...whole, scope: Object.freeze([...new Set(whole.scope)]) }) as EnforcedPolicy;
}

/** What `ToolServer.policyForAnyScope` makes. */
export function scopelessPolicy(
  policy: Omit<RoutePolicy, 'scope'>,
  server: Pick<CheckedOptions, 'requireActor' | 'maxDelegationDepth'>,
): EnforcedPolicy {
  // Checked like any other, with a scope that is not kept.
  return Object.freeze({ ...enforcedPolicy({ ...policy, scope: ['any'] }, server), scope: Object.freeze([]) });
}

/** No scope would mean "whatever the token is good for": that is an error, not "none" (specification). */
function scopeProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return 'must be a list of at least one scope';
  return value.every((name) => typeof name === 'string' && isScopeToken(name))
    ? undefined
    : 'must hold only scopes: printable ASCII without spaces, quotes and backslashes';
}

function flagProblem(value: unknown): string | undefined {
  return typeof value === 'boolean' ? undefined : 'must be true or false';
}
