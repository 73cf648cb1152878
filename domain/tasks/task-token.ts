/** The claims and the lifetime of a task token, and whether it is still valid (specification "Task token claims", "Token"). */

import type { Agent } from '../agents/agent.ts';
import { agentSubject, type TokenId } from '../identifiers.ts';
import { type Instant, toSeconds } from '../instant.ts';
import { formatScope, type Scope } from '../scope.ts';
import type { JsonObject } from '../tokens/strict-json.ts';
import { stateAt, tokenEnd } from './lifetime.ts';
import type { Revocation, Task, TaskState } from './task.ts';
import type { TaskTerms } from './token-of-task.ts';

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
  readonly scope: Scope;
  readonly instance: string | undefined;
  readonly now: Instant;
}): TaskTokenClaims {
  const { task, agent } = token;
  const issuedAt = toSeconds(token.now);
  const expiry = toSeconds(tokenEnd(token.now, agent.maxTokenTtl, task));
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
    task: { id: task.taskId, exp: toSeconds(task.expiresAt), sponsor: task.sponsor },
    // Written only if true. Without it, a tool server's own route may still require introspection.
    ...(agent.highRiskAudiences.includes(task.audience) ? { introspect_required: true } : {}),
  };
  return { claims, expiresIn: expiry - issuedAt };
}

/** The stored facts about a token and its task. */
export interface TokenFacts {
  readonly tokenRevocation: Revocation | undefined;
  readonly task: TaskTerms;
  readonly taskState: TaskState;
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
  const state = stateAt(facts.taskState, facts.task, now);
  if (state.kind === 'revoked') return { kind: 'revoked', revocation: state };
  if (state.kind === 'expired') return { kind: 'inactive' };
  return facts.agentEnabled ? { kind: 'active' } : { kind: 'agent_disabled' };
}
