/** Reads one of our own task tokens: verifies its signature and extracts its ids. The expiry is not checked. */

import { parseTaskId, parseTokenId, type TaskId, type TokenId } from '../../domain/identifiers.ts';
import { type Instant, instantFromSeconds } from '../../domain/instant.ts';
import { TASK_TOKEN_TYPE } from '../../domain/tasks/task-token.ts';
import { dateClaim, hasType, readCompactJws, textClaim } from '../../domain/tokens/compact-jws.ts';
import { isJsonObject, type JsonObject, member } from '../../domain/tokens/strict-json.ts';
import type { SigningKeys } from '../ports/keys.ts';

export interface TaskToken {
  readonly tokenId: TokenId;
  readonly taskId: TaskId;
  readonly expiresAt: Instant;
  readonly claims: JsonObject;
}

/** `undefined` for any text that is not a task token of this service. */
export async function readTaskToken(
  { signingKeys, issuer }: { readonly signingKeys: SigningKeys; readonly issuer: string },
  text: string,
): Promise<TaskToken | undefined> {
  const jws = readCompactJws(text);
  if (jws === undefined || !hasType(jws, [TASK_TOKEN_TYPE]) || !(await signingKeys.verify(jws))) return undefined;
  const { claims } = jws;
  const task = member(claims, 'task');
  const expiry = dateClaim(claims, 'exp');
  const tokenId = parseTokenId(textClaim(claims, 'jti') ?? '');
  const taskId = isJsonObject(task) ? parseTaskId(textClaim(task, 'id') ?? '') : undefined;
  if (textClaim(claims, 'iss') !== issuer || expiry === undefined) return undefined;
  if (tokenId === undefined || taskId === undefined) return undefined;
  return { tokenId, taskId, expiresAt: instantFromSeconds(expiry), claims };
}
