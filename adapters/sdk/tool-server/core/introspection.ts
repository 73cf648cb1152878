/**
 * Asking the control plane whether a token is good right now (RFC 7662; specification "Tool-server contract" 4). Every
 * call asks anew: that a revocation shows at once is what it is for.
 */

import { isJsonObject, member, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import type { ControlPlane } from './control-plane.ts';

export type Introspected =
  | { readonly kind: 'active' }
  | { readonly kind: 'not_active'; readonly revocationReason: string | undefined }
  | { readonly kind: 'unavailable'; readonly retryAfter: string | undefined };

/** A reason is a fixed word; anything else is not repeated to whoever called. */
const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/** @param token its claims, and the token itself in `text` */
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
  // An answer about another token says nothing of this one, whoever mixed them up.
  if (active && member(body, 'sub') === token.sub && member(body, 'jti') === token.jti) return { kind: 'active' };
  const reason = active ? undefined : member(body, 'revocation_reason');
  const revocationReason = typeof reason === 'string' && REASON.test(reason) ? reason : undefined;
  return { kind: 'not_active', revocationReason };
}
