/** The claims and the lifetime of a task token, and whether it is still valid (specification "Task token claims", "Token"). */

import type { Agent } from '../agents/agent.ts';
import { agentSubject, type TokenId } from '../identifiers.ts';
import { type Instant, toSeconds } from '../instant.ts';
import { formatScope, type Scope } from '../scope.ts';
import type { JsonObject } from '../tokens/strict-json.ts';
import { actorChain } from './actor-chain.ts';
import { stateAt, tokenEnd } from './lifetime.ts';
import type { Revocation, Task, TaskState } from './task.ts';
import { type TaskTerms, taskClaim } from './token-of-task.ts';

/** RFC 9068 §2.1: the `typ` of an access token in JWT form. */
export const TASK_TOKEN_TYPE = 'at+jwt';

interface TaskTokenClaims {
  readonly claims: JsonObject;
  /** The lifetime of the token in seconds, from its `iat`. */
  readonly expiresIn: number;
}

export function taskTokenClaims(token: {
  readonly issuer: string;
  readonly tokenId: TokenId;
  readonly task: Task;
  readonly agent: Agent;
  /** The agents that delegated the task. Absent if none did. */
  readonly delegators?: readonly Pick<Agent, 'highRiskAudiences'>[] | undefined;
  readonly scope: Scope;
  readonly instance: string | undefined;
  readonly now: Instant;
}): TaskTokenClaims {
  const { task, agent, delegators = [] } = token;
  const issuedAt = toSeconds(token.now);
  const expiry = toSeconds(tokenEnd(token.now, agent.maxTokenTtl, task));
  const isHighRisk = [agent, ...delegators].some(({ highRiskAudiences }) => highRiskAudiences.includes(task.audience));
  const claims: JsonObject = {
    iss: token.issuer,
    sub: task.sponsor,
    aud: task.audience,
    exp: expiry,
    iat: issuedAt,
    jti: token.tokenId,
    scope: formatScope(token.scope),
    client_id: agentSubject(task.agentId),
    act: actorChain(task, token.instance),
    task: taskClaim(task),
    // Written only if true. Without it, a tool server's own route may still require introspection.
    ...(isHighRisk ? { introspect_required: true } : {}),
  };
  return { claims, expiresIn: expiry - issuedAt };
}

/** The stored facts about a token and its task. */
export interface StoredTokenFacts {
  readonly tokenRevocation: Revocation | undefined;
  readonly task: TaskTerms;
  readonly taskState: TaskState;
  readonly agentEnabled: boolean;
}

export interface TokenFacts extends StoredTokenFacts {
  /** The tasks through which the authority came, and their agents. Empty if none delegated the task. */
  readonly above: readonly TaskAbove[];
}

/** A task above a delegated one. */
export interface TaskAbove {
  readonly task: Pick<Task, 'expiresAt'>;
  readonly state: TaskState;
  readonly agentEnabled: boolean;
}

export type Standing =
  | { readonly kind: 'active' }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'revoked'; readonly revocation: Revocation }
  /** `ancestor_disabled`: an agent that delegated the task. The answer does not say which one. */
  | { readonly kind: 'agent_disabled' | 'ancestor_disabled' };

/** The state of a token that has a valid signature and has not expired. */
export function judgeStanding(facts: TokenFacts, now: Instant): Standing {
  if (facts.tokenRevocation !== undefined) return { kind: 'revoked', revocation: facts.tokenRevocation };
  const state = stateAt(facts.taskState, facts.task, now);
  if (state.kind === 'revoked') return { kind: 'revoked', revocation: state };
  if (state.kind === 'expired') return { kind: 'inactive' };
  // The end of a task ends those below it in the same transaction, so this shows only if a row was changed by hand.
  for (const { task, state: stored } of facts.above) {
    const above = stateAt(stored, task, now);
    if (above.kind === 'revoked') return { kind: 'revoked', revocation: { at: above.at, reason: 'parent_revoked' } };
    if (above.kind === 'expired') return { kind: 'inactive' };
  }
  if (!facts.agentEnabled) return { kind: 'agent_disabled' };
  return facts.above.every(({ agentEnabled }) => agentEnabled) ? { kind: 'active' } : { kind: 'ancestor_disabled' };
}
