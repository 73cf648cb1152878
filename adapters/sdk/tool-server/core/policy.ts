/** The policy of a route or tool (specification "Tool-server contract" 3, 4, 6 and "Per route overrides"). */

import { isScopeToken, type Scope } from '../../../../domain/scope.ts';
import { type CheckedOptions, depthProblem, throwProblems, withoutAbsent } from './options.ts';

export interface RoutePolicy {
  /** Scopes that the token must all have; at least one. */
  readonly scope: Scope;
  /** Whether every call is introspected. The default is false. */
  readonly highRisk?: boolean;
  /** Overrides `requireActor` of the server. */
  readonly requireActor?: boolean;
  /** Overrides `maxDelegationDepth` of the server. */
  readonly maxDelegationDepth?: number;
}

declare const checked: unique symbol;
/** A checked policy with its defaults. Only `ToolServer.policy` and `policyForAnyScope` create one. */
export type EnforcedPolicy = Required<RoutePolicy> & { readonly [checked]: true };

const CHECKS: { readonly [Name in keyof RoutePolicy]-?: (value: unknown) => string | undefined } = {
  scope: scopeProblem,
  highRisk: flagProblem,
  requireActor: flagProblem,
  maxDelegationDepth: depthProblem,
};

/** Returns a frozen copy, so that later changes of the given object have no effect. @throws TypeError */
export function enforcedPolicy(
  policy: RoutePolicy,
  server: Pick<CheckedOptions, 'requireActor' | 'maxDelegationDepth'>,
): EnforcedPolicy {
  const { requireActor, maxDelegationDepth } = server;
  const whole = { highRisk: false, requireActor, maxDelegationDepth, ...withoutAbsent(policy) };
  throwProblems('A policy', whole, CHECKS);
  return Object.freeze({ ...whole, scope: Object.freeze([...new Set(whole.scope)]) }) as EnforcedPolicy;
}

/** The policy of `ToolServer.policyForAnyScope`. @throws TypeError */
export function scopelessPolicy(
  policy: Omit<RoutePolicy, 'scope'>,
  server: Pick<CheckedOptions, 'requireActor' | 'maxDelegationDepth'>,
): EnforcedPolicy {
  // The placeholder scope passes the checks, and is then dropped.
  return Object.freeze({ ...enforcedPolicy({ ...policy, scope: ['any'] }, server), scope: Object.freeze([]) });
}

/** An empty list would accept every token, so it is an error (specification "Tool-server contract" 3). */
function scopeProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return 'must be a list of at least one scope';
  return value.every((name) => typeof name === 'string' && isScopeToken(name))
    ? undefined
    : 'must hold only scopes: printable ASCII without spaces, quotes and backslashes';
}

function flagProblem(value: unknown): string | undefined {
  return typeof value === 'boolean' ? undefined : 'must be true or false';
}
