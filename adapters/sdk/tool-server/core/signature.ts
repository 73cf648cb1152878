/**
 * Verifies signatures of task tokens, ES256 only. jose imports the keys. Node's crypto verifies in its thread pool: the
 * strict reader has already parsed the token, and a JWT library would parse it again.
 */

import { KeyObject, verify } from 'node:crypto';
import { importJWK } from 'jose';
import { usableKeys } from '../../../../domain/agents/key-set.ts';
import type { UsableKey } from '../../../../domain/agents/public-key.ts';
import type { Json } from '../../../../domain/tokens/strict-json.ts';

export const ALGORITHM = 'ES256';

/** Keys by `kid`. A key without a `kid` is left out, because no token can name it. */
export type KeySet = ReadonlyMap<string, KeyObject>;

/** The keys of a published set that can sign task tokens; `undefined` if there are none. */
export async function importKeySet(jwks: Json | undefined): Promise<KeySet | undefined> {
  const usable = usableKeys(jwks, { algorithms: [ALGORITHM], kinds: 'an EC key on P-256' }) ?? [];
  const imported = await Promise.all(usable.map(importKey));
  const keys = new Map(imported.filter((entry) => entry !== undefined));
  return keys.size === 0 ? undefined : keys;
}

async function importKey({ jwk }: UsableKey): Promise<readonly [string, KeyObject] | undefined> {
  const { kid, kty, crv = '', x = '', y = '' } = jwk;
  if (kid === undefined) return undefined;
  try {
    const key = await importJWK({ kty, crv, x, y }, ALGORITHM);
    return key instanceof Uint8Array ? undefined : [kid, KeyObject.from(key)];
  } catch {
    // The coordinates are not a point on the curve.
    return undefined;
  }
}

/** @param token three canonical segments, checked by the strict reader */
export function hasSignatureOf(key: KeyObject, token: string): Promise<boolean> {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  return new Promise((resolve, reject) => {
    const input = Buffer.from(token.slice(0, end));
    verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature, (fault, valid) =>
      fault === null ? resolve(valid) : reject(fault),
    );
  });
}
