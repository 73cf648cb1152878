/** The policy of a route or tool (specification "Tool-server contract" 3, 4, 6 and "Per route overrides"). */

import type { Scope } from '../../../../domain/scope.ts';
import { type Checks, checkArguments, flag, optional, optionsOf, withoutAbsent } from '../../arguments.ts';
import { scopes } from '../../scope-list.ts';
import type { TaskTokenClaims } from './claims.ts';
import { type CheckedOptions, depth } from './options.ts';

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

const SCOPELESS: Checks<Omit<RoutePolicy, 'scope'>> = {
  highRisk: optional(flag),
  requireActor: optional(flag),
  maxDelegationDepth: optional(depth),
};

/** The checks of a policy. An empty scope would accept every token (specification "Tool-server contract" 3). */
export const POLICY: Checks<RoutePolicy> = { scope: scopes, ...SCOPELESS };

/** Why the policy refuses each request of a token by who acts in it. */
export function actorFault(
  { requireActor, maxDelegationDepth }: Server,
  { act }: Pick<TaskTokenClaims, 'act'>,
): 'no_actor' | 'delegation_too_deep' | undefined {
  if (act === undefined) return requireActor ? 'no_actor' : undefined;
  return act.depth > maxDelegationDepth ? 'delegation_too_deep' : undefined;
}

/** The scopes of the policy that a token lacks. */
export function missingScopes({ scope }: EnforcedPolicy, claims: Pick<TaskTokenClaims, 'scope'>): readonly string[] {
  return scope.filter((name) => !claims.scope.includes(name));
}

type Server = Pick<CheckedOptions, 'requireActor' | 'maxDelegationDepth'>;

/** Returns a frozen copy, so that later changes of the given object have no effect. @throws TypeError */
export function enforcedPolicy(policy: RoutePolicy, server: Server): EnforcedPolicy {
  checkArguments('toolServer.policy', policy, optionsOf(POLICY));
  return frozen(policy, server);
}

/** The policy of `ToolServer.policyForAnyScope`. @throws TypeError */
export function scopelessPolicy(policy: Omit<RoutePolicy, 'scope'>, server: Server): EnforcedPolicy {
  checkArguments('toolServer.policyForAnyScope', policy, optionsOf(SCOPELESS));
  return frozen({ ...policy, scope: [] }, server);
}

function frozen(policy: RoutePolicy, { requireActor, maxDelegationDepth }: Server): EnforcedPolicy {
  const whole = { highRisk: false, requireActor, maxDelegationDepth, ...withoutAbsent(policy) };
  return Object.freeze({ ...whole, scope: Object.freeze([...new Set(whole.scope)]) }) as EnforcedPolicy;
}
