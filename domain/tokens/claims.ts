/** The claims set of a token (RFC 7519 §4). It is read once: the registered claims have types, all others are in `json`. */

import { isTextList, type JsonObject, member, textMember } from './strict-json.ts';

export interface Claims {
  /** `iss`, if it is a text. */
  readonly issuer: string | undefined;
  /** `sub`, if it is a text. */
  readonly subject: string | undefined;
  /** `aud` as a list (RFC 7519 §4.1.3); `undefined` when it is absent or neither a string nor an array of strings. */
  readonly audience: readonly string[] | undefined;
  /** `exp`, `nbf` and `iat` are whole seconds. */
  readonly expiry: number | undefined;
  readonly notBefore: number | undefined;
  readonly issuedAt: number | undefined;
  /** `jti`, if it is a text. */
  readonly tokenId: string | undefined;
  readonly json: JsonObject;
}

/** `undefined` if a date is unusable. */
export function readClaims(json: JsonObject): Claims | undefined {
  const expiry = dateIn(json, 'exp');
  const notBefore = dateIn(json, 'nbf');
  const issuedAt = dateIn(json, 'iat');
  if (expiry === 'unusable' || notBefore === 'unusable' || issuedAt === 'unusable') return undefined;
  return {
    issuer: textMember(json, 'iss'),
    subject: textMember(json, 'sub'),
    audience: audienceIn(json),
    expiry,
    notBefore,
    issuedAt,
    tokenId: textMember(json, 'jti'),
    json,
  };
}

/** A NumericDate must be a safe integer: JSON.parse reads 1e400 as Infinity, which never expires. */
function dateIn(json: JsonObject, name: 'exp' | 'nbf' | 'iat'): number | 'unusable' | undefined {
  const value = member(json, name);
  if (value === undefined) return undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 'unusable';
}

function audienceIn(json: JsonObject): readonly string[] | undefined {
  const value = member(json, 'aud');
  if (typeof value === 'string') return [value];
  return isTextList(value) ? value : undefined;
}
