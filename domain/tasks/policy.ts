/**
 * The authority that an agent gets for a person (specification "Exchange" rules 1, 2 and 7; "Refresh" check 7).
 * application/token/refresh.ts refuses a scope beyond the grant before it calls this.
 */

import type { Registration } from '../agents/agent.ts';
import type { DenialReason } from '../denial.ts';
import { intersectScopes, type Scope } from '../scope.ts';

/** The depth of a task that no other agent delegated. */
export const ROOT_DELEGATION_DEPTH = 1;

type PolicyVerdict =
  | { readonly kind: 'granted'; readonly scope: Scope }
  | {
      readonly kind: 'refused';
      readonly reason: Extract<
        DenialReason,
        'scope_intersection_empty' | 'audience_not_allowed' | 'delegation_depth_exceeded'
      >;
    };

/**
 * @param asked.held the scope that the person holds (an exchange), or that the grant still has (a refresh)
 * @returns the intersection of the held scope, the agent's allowed scope and the requested scope
 */
export function judgePolicy(
  agent: Pick<Registration, 'allowedScopes' | 'allowedAudiences' | 'maxDelegationDepth'>,
  asked: { readonly audience: string; readonly requested: Scope; readonly held: Scope; readonly depth: number },
): PolicyVerdict {
  const scope = intersectScopes(asked.requested, agent.allowedScopes, asked.held);
  if (scope.length === 0) return { kind: 'refused', reason: 'scope_intersection_empty' };
  if (!agent.allowedAudiences.includes(asked.audience)) return { kind: 'refused', reason: 'audience_not_allowed' };
  if (asked.depth > agent.maxDelegationDepth) return { kind: 'refused', reason: 'delegation_depth_exceeded' };
  return { kind: 'granted', scope };
}
