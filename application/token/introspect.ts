/**
 * Introspection (RFC 7662; specification "POST /oauth2/introspect"): whether a task token is active now. Every request
 * reads storage, so that a revocation takes effect at once.
 */

import { parseTaskId, parseTokenId, type TaskId, type TokenId } from '../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../../domain/instant.ts';
import { judgeStanding, type Standing, TASK_TOKEN_TYPE } from '../../domain/tasks/task-token.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { CLOCK_SKEW_SECONDS, hasType, readCompactJws } from '../../domain/tokens/compact-jws.ts';
import { isJsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import type { SigningKeys } from '../ports/keys.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import type { Tasks } from '../ports/tasks.ts';

interface Introspection {
  readonly tasks: Tasks;
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
  readonly sharedTime: Pick<SharedTime, 'latest'>;
  readonly issuer: string;
}

export type IntrospectedToken =
  | { readonly kind: 'active'; readonly token: TaskToken }
  | Exclude<Standing, { kind: 'active' }>;

export async function introspectToken(service: Introspection, text: string): Promise<IntrospectedToken> {
  const token = await readCurrentToken(service, text);
  if (token === undefined) return { kind: 'inactive' };
  const facts = await service.tasks.tokenFacts(token.tokenId, token.taskId);
  if (facts === undefined) return { kind: 'inactive' };
  const standing = judgeStanding(facts, service.clock.now());
  return standing.kind === 'active' ? { kind: 'active', token } : standing;
}

/** Reads one of our own task tokens within its time. `undefined` for any other text. Nothing is read from storage. */
export async function readCurrentToken(
  service: Pick<Introspection, 'signingKeys' | 'issuer' | 'clock' | 'sharedTime'>,
  text: string,
): Promise<TaskToken | undefined> {
  const token = await readTaskToken(service, text);
  // An expired token is only inactive, even if its task was revoked (specification "Token"). It is past by the later of two
  // clocks, because its revocation is deleted once the earlier has passed its end.
  if (token === undefined || token.expiresAt <= (await service.sharedTime.latest())) return undefined;
  // RFC 7519 §4.1.5. The service writes no nbf.
  const { notBefore } = token.claims;
  const isEarly = notBefore !== undefined && notBefore > toSeconds(service.clock.now()) + CLOCK_SKEW_SECONDS;
  return isEarly ? undefined : token;
}

export interface TaskToken {
  readonly tokenId: TokenId;
  readonly taskId: TaskId;
  readonly expiresAt: Instant;
  readonly claims: Claims;
}

/**
 * Reads one of our own task tokens: verifies its signature and extracts its ids. The expiry is not checked. `undefined`
 * for any text that is not a task token of this service.
 */
export async function readTaskToken(
  { signingKeys, issuer }: { readonly signingKeys: SigningKeys; readonly issuer: string },
  text: string,
): Promise<TaskToken | undefined> {
  const jws = readCompactJws(text);
  if (jws === undefined || !hasType(jws, [TASK_TOKEN_TYPE]) || !(await signingKeys.verify(jws))) return undefined;
  const { claims } = jws;
  const task = member(claims.json, 'task');
  const tokenId = parseTokenId(claims.tokenId ?? '');
  const taskId = isJsonObject(task) ? parseTaskId(textMember(task, 'id') ?? '') : undefined;
  if (claims.issuer !== issuer || claims.expiry === undefined) return undefined;
  if (tokenId === undefined || taskId === undefined) return undefined;
  return { tokenId, taskId, expiresAt: instantFromSeconds(claims.expiry), claims };
}
