/**
 * What an agent may have for a person (specification "Exchange" rules 1, 2 and 7; "Refresh" check 7). Values in, a
 * verdict out: the invariant that authority never widens is decided here and nowhere else.
 */

import type { Registration } from '../agents/agent.ts';
import type { DenialReason } from '../denial.ts';
import { intersectScopes, type Scope } from '../scope.ts';

/** Every task is one human's and one agent's: longer chains are defined for readers but not issued. */
export const ISSUED_DELEGATION_DEPTH = 1;

export type PolicyVerdict =
  | { readonly kind: 'granted'; readonly scope: Scope }
  | {
      readonly kind: 'refused';
      readonly reason: Extract<
        DenialReason,
        'scope_intersection_empty' | 'audience_not_allowed' | 'delegation_depth_exceeded'
      >;
    };

/**
 * @param asked.held what the person holds (an exchange), or what the task was granted (a refresh)
 * @returns the scope that is in all three of what is held, what the agent may have, and what was requested
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
