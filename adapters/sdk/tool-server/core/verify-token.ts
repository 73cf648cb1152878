/** Verifies that this control plane signed the token for this server (specification "Tool-server contract" 2). */

import type { IncomingHttpHeaders } from 'node:http';
import { TASK_TOKEN_TYPE } from '../../../../domain/tasks/task-token.ts';
import type { Claims } from '../../../../domain/tokens/claims.ts';
import { type CompactJws, readCompactJws } from '../../../../domain/tokens/compact-jws.ts';
import { type Expected, judgeClaims, type TaskTokenClaims } from './claims.ts';
import { ALGORITHM, type ControlPlaneKeys, hasSignatureOf } from './control-plane-keys.ts';
import type { RefusalDetail, RefusalReason } from './refusal.ts';

type TokenVerdict =
  | { readonly kind: 'verified'; readonly claims: TaskTokenClaims; readonly signed: Claims }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly detail?: RefusalDetail;
      /** The token's claims, if this control plane signed them. */
      readonly signed?: Claims;
    };

/** Node's limit for all headers of a request. Real tokens are far shorter. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/** @param cause the headers of the request that carries the token */
export async function verifyToken(
  keys: ControlPlaneKeys,
  text: string,
  expected: Expected,
  cause?: IncomingHttpHeaders,
): Promise<TokenVerdict> {
  const jws = text.length <= MAX_TOKEN_LENGTH ? readCompactJws(text) : undefined;
  if (jws === undefined) return { kind: 'refused', reason: 'malformed_token' };
  const fault = await signatureFault(keys, jws, TASK_TOKEN_TYPE, cause);
  if (fault !== undefined) return { kind: 'refused', ...fault };

  const verdict = judgeClaims(jws.claims, expected);
  if (verdict.kind === 'accepted') return { kind: 'verified', claims: verdict.claims, signed: jws.claims };
  const isOurs = verdict.reason !== 'wrong_issuer';
  return { kind: 'refused', reason: verdict.reason, ...(isOurs && { signed: jws.claims }) };
}

/** Why the JWS is not one of this type that the control plane signed; `undefined` if it is. */
export async function signatureFault(
  keys: ControlPlaneKeys,
  jws: CompactJws,
  type: string,
  cause?: IncomingHttpHeaders,
): Promise<{ readonly reason: RefusalReason; readonly detail?: RefusalDetail } | undefined> {
  if (jws.algorithm !== ALGORITHM) return { reason: 'unsupported_algorithm' };
  // Compared exactly. Other tokens that the same key signs have another type.
  if (jws.type !== type) return { reason: 'wrong_type' };
  if (jws.keyId === undefined) return { reason: 'unknown_key' };
  const found = await keys.find(jws.keyId, cause);
  if (found.kind === 'unknown') return { reason: 'unknown_key' };
  if (found.kind === 'unavailable') return { reason: 'keys_unavailable', detail: { retryAfter: found.retryAfter } };
  return (await hasSignatureOf(found.key, jws.text)) ? undefined : { reason: 'invalid_signature' };
}
