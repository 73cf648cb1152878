/**
 * Introspection (RFC 7662; specification "POST /oauth2/introspect"): whether a task token is valid right now. Every
 * request reads storage, so that a revocation takes effect at once.
 */

import { judgeStanding, type Standing } from '../../domain/tasks/task-token.ts';
import type { SigningKeys } from '../ports/keys.ts';
import type { Tasks } from '../ports/queries.ts';
import type { Clock } from '../ports/runtime.ts';
import { readTaskToken, type TaskToken } from './read-task-token.ts';

export interface Introspection {
  readonly tasks: Tasks;
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
  readonly issuer: string;
}

export type IntrospectedToken =
  | { readonly kind: 'active'; readonly token: TaskToken }
  | Exclude<Standing, { kind: 'active' }>;

export async function introspectToken(service: Introspection, text: string): Promise<IntrospectedToken> {
  const token = await readTaskToken(service, text);
  const now = service.clock.now();
  // An expired token is only inactive, even if its task was revoked (specification "Token").
  if (token === undefined || token.expiresAt <= now) return { kind: 'inactive' };
  const facts = await service.tasks.tokenFacts(token.tokenId, token.taskId);
  if (facts === undefined) return { kind: 'inactive' };
  const standing = judgeStanding(facts, now);
  return standing.kind === 'active' ? { kind: 'active', token } : standing;
}
