/** The claims set of a token, as its strict reader has it. */

import { type Claims, readClaims } from '../../domain/tokens/claims.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';

export function claimsOf(json: object): Claims {
  const claims = readClaims(json as JsonObject);
  if (claims === undefined) throw new Error('a date of these claims is unusable');
  return claims;
}
