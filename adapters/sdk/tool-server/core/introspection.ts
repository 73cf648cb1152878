/**
 * Asks the control plane whether a token is active now (RFC 7662; specification "Tool-server contract" 4). Answers are
 * not cached, so a revocation takes effect at the next call.
 */

import { isJsonObject, member, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import type { ControlPlane } from './control-plane.ts';

export type Introspected =
  | { readonly kind: 'active' }
  | { readonly kind: 'not_active'; readonly revocationReason: string | undefined }
  | { readonly kind: 'unavailable'; readonly retryAfter: string | undefined };

/** The form of a revocation reason; other text is not repeated to the client. */
const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/** @param token the token in `text`, and its verified claims */
export async function introspect(
  plane: ControlPlane,
  token: { readonly text: string; readonly sub: string; readonly jti: string },
): Promise<Introspected> {
  const answer = await plane.post('/oauth2/introspect', { token: token.text });
  const body = answer?.status === 200 ? parseStrictJson(answer.body) : undefined;
  const active = isJsonObject(body) ? member(body, 'active') : undefined;
  if (!isJsonObject(body) || typeof active !== 'boolean') {
    return { kind: 'unavailable', retryAfter: answer?.retryAfter };
  }
  // An answer about another token does not make this one active.
  if (active && member(body, 'sub') === token.sub && member(body, 'jti') === token.jti) return { kind: 'active' };
  const reason = active ? undefined : member(body, 'revocation_reason');
  const revocationReason = typeof reason === 'string' && REASON.test(reason) ? reason : undefined;
  return { kind: 'not_active', revocationReason };
}
