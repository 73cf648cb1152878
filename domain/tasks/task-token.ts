/** The claims and the lifetime of a task token, and whether it is still valid (specification "Task token claims", "Token"). */

import type { Agent } from '../agents/agent.ts';
import { agentSubject, type TokenId } from '../identifiers.ts';
import { type Instant, secondsBetween, toSeconds } from '../instant.ts';
import { formatScope, type Scope } from '../scope.ts';
import type { JsonObject } from '../tokens/strict-json.ts';
import { type Revocation, TASK_ENDING_SECONDS, type Task, type TaskState } from './task.ts';

/** RFC 9068 §2.1: the `typ` of an access token in JWT form. */
export const TASK_TOKEN_TYPE = 'at+jwt';

/** Whether the task ends too soon for another token (specification "Refresh", check 4). */
export function isEnding(task: Pick<Task, 'expiresAt'>, now: Instant): boolean {
  return secondsBetween(now, task.expiresAt) < TASK_ENDING_SECONDS;
}

interface TaskTokenClaims {
  readonly claims: JsonObject;
  /** The lifetime of the token in seconds, from its `iat`. */
  readonly expiresIn: number;
}

/** A token never outlives its task: its lifetime is cut to the task's remaining time (specification, rule 8). */
export function taskTokenClaims(token: {
  readonly issuer: string;
  readonly tokenId: TokenId;
  readonly task: Task;
  readonly agent: Agent;
  readonly scope: Scope;
  readonly instance: string | undefined;
  readonly now: Instant;
}): TaskTokenClaims {
  const { task, agent } = token;
  const issuedAt = toSeconds(token.now);
  const taskExpiry = toSeconds(task.expiresAt);
  const expiry = Math.min(issuedAt + agent.maxTokenTtl, taskExpiry);
  const actor = agentSubject(task.agentId);
  const claims: JsonObject = {
    iss: token.issuer,
    sub: task.sponsor,
    aud: task.audience,
    exp: expiry,
    iat: issuedAt,
    jti: token.tokenId,
    scope: formatScope(token.scope),
    client_id: actor,
    act: {
      sub: actor,
      ...(token.instance === undefined ? {} : { instance: token.instance }),
      depth: task.delegationDepth,
    },
    task: { id: task.taskId, exp: taskExpiry, sponsor: task.sponsor },
    // Written only if true. Without it, a tool server's own route may still require introspection.
    ...(agent.highRiskAudiences.includes(task.audience) ? { introspect_required: true } : {}),
  };
  return { claims, expiresIn: expiry - issuedAt };
}

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

/** The state of a token that has a valid signature and has not expired. */
export function judgeStanding(facts: TokenFacts, now: Instant): Standing {
  if (facts.tokenRevocation !== undefined) return { kind: 'revoked', revocation: facts.tokenRevocation };
  if (facts.taskState.kind === 'revoked') return { kind: 'revoked', revocation: facts.taskState };
  if (facts.taskState.kind === 'expired' || facts.taskExpiresAt <= now) return { kind: 'inactive' };
  return facts.agentEnabled ? { kind: 'active' } : { kind: 'agent_disabled' };
}
