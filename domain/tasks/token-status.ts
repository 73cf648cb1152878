/** Whether a token is still valid (specification "Token", "Introspection response"). */

import type { Instant } from '../instant.ts';
import type { Revocation, TaskState } from './task.ts';

/** The stored facts about a token and its task. */
export interface TokenFacts {
  readonly tokenRevocation: Revocation | undefined;
  readonly taskState: TaskState;
  readonly taskExpiresAt: Instant;
  readonly agentEnabled: boolean;
}

export type Standing =
  | { readonly kind: 'active' }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'revoked'; readonly revocation: Revocation }
  | { readonly kind: 'agent_disabled' };

/** Judges a token whose signature has verified and which has not expired. */
export function judgeStanding(facts: TokenFacts, now: Instant): Standing {
  if (facts.tokenRevocation !== undefined) return { kind: 'revoked', revocation: facts.tokenRevocation };
  if (facts.taskState.kind === 'revoked') return { kind: 'revoked', revocation: facts.taskState };
  if (facts.taskState.kind === 'expired' || facts.taskExpiresAt <= now) return { kind: 'inactive' };
  return facts.agentEnabled ? { kind: 'active' } : { kind: 'agent_disabled' };
}
