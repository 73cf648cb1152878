/** Verifies the signature of a token of a control plane, with the keys of that control plane alone. */

import type { IncomingHttpHeaders } from 'node:http';
import type { CompactJws } from '../../../../domain/tokens/compact-jws.ts';
import { ALGORITHM, type ControlPlaneKeys, hasSignatureOf } from './control-plane-keys.ts';
import type { RefusalDetail, RefusalReason } from './refusal.ts';

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
