/**
 * Introspection (RFC 7662; specification "POST /oauth2/introspect"): whether a task token is active now. Every request
 * reads storage, so that a revocation takes effect at once. It also compares the token with its stored task: a valid signature
 * does not show that the service made it (docs/decisions/0035-introspection-compares-with-the-task.md).
 */

import { parseTaskId, parseTokenId, type TaskId, type TokenId } from '../../domain/identifiers.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../../domain/instant.ts';
import { isDelegatedThrough, parentOf } from '../../domain/tasks/task.ts';
import {
  judgeStanding,
  type Standing,
  TASK_TOKEN_TYPE,
  type TaskAbove,
  type TokenFacts,
} from '../../domain/tasks/task-token.ts';
import { isTokenOf, type TaskTerms } from '../../domain/tasks/token-of-task.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { CLOCK_SKEW_SECONDS, hasType, readCompactJws } from '../../domain/tokens/compact-jws.ts';
import { isJsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import type { SigningKeys } from '../ports/keys.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import type { Tasks } from '../ports/tasks.ts';
import type { Measurements } from '../ports/telemetry.ts';

export interface Introspection {
  readonly tasks: Pick<Tasks, 'tokenFacts' | 'chain'>;
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
  readonly sharedTime: Pick<SharedTime, 'latest'>;
  readonly issuer: string;
  readonly measurements: MismatchCounter;
}

/** Nothing else notes a token that differs from its task: a forger must not be able to fill the ledger. */
export type MismatchCounter = Pick<Measurements, 'tokenMismatch'> | undefined;

export type IntrospectedToken =
  | { readonly kind: 'active'; readonly token: TaskToken }
  | Exclude<Standing, { kind: 'active' }>
  | Mismatch;

/** The signature is valid, but the token says something else than its stored task. Clients see an inactive token. */
interface Mismatch {
  readonly kind: 'mismatch';
}

export async function introspectToken(service: Introspection, text: string): Promise<IntrospectedToken> {
  const found = await findCurrentToken(service, text, 'introspection');
  if (found.kind !== 'found') return found;
  const standing = judgeStanding(found.facts, service.clock.now());
  return standing.kind === 'active' ? { kind: 'active', token: found.token } : standing;
}

type FoundToken =
  | { readonly kind: 'found'; readonly token: TaskToken; readonly facts: TokenFacts }
  | { readonly kind: 'inactive' }
  | Mismatch;

/** Reads one of our own task tokens within its time, and its stored task, with which it is compared. */
export async function findCurrentToken(
  service: Introspection,
  text: string,
  surface: Parameters<Measurements['tokenMismatch']>[0],
): Promise<FoundToken> {
  const token = await readCurrentToken(service, text);
  const facts = token && (await service.tasks.tokenFacts(token.tokenId, token.taskId));
  if (token === undefined || facts === undefined) return { kind: 'inactive' };
  // Before the task's state: a forged token does not learn why the task ended.
  if (!isTokenOf(facts.task, token.claims, service.issuer)) {
    service.measurements?.tokenMismatch(surface);
    return { kind: 'mismatch' };
  }
  const above = await tasksAbove(service, facts.task);
  return above === undefined ? { kind: 'inactive' } : { kind: 'found', token, facts: { ...facts, above } };
}

/**
 * The tasks through which the authority came: only a delegated task needs a further read. `undefined` if one is missing; a task
 * is deleted after those that were delegated from it.
 */
async function tasksAbove(
  { tasks }: Pick<Introspection, 'tasks'>,
  task: TaskTerms,
): Promise<readonly TaskAbove[] | undefined> {
  const parent = parentOf(task);
  if (parent === undefined) return [];
  const above = await tasks.chain(parent);
  return isDelegatedThrough(task, above) ? above : undefined;
}

/** `undefined` for any text that is not one of our own task tokens within its time. Nothing is read from storage. */
async function readCurrentToken(
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
 * for any text that is not a task token with a signature of this service.
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
