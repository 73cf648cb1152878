/**
 * Signatures of task tokens: ES256 and nothing else. jose imports the keys; the signature itself is checked by Node's
 * own crypto in its thread pool, since the strict reader has parsed already what a library would parse again.
 */

import { KeyObject, verify } from 'node:crypto';
import { importJWK } from 'jose';
import { usableKeys } from '../../../../domain/agents/key-set.ts';
import type { UsableKey } from '../../../../domain/agents/public-key.ts';
import type { Json } from '../../../../domain/tokens/strict-json.ts';

export const ALGORITHM = 'ES256';

/** By `kid`; a key without one can't be named by a token. */
export type KeySet = ReadonlyMap<string, KeyObject>;

/** The keys of a published set that a task token can be signed with; `undefined` when there is none. */
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
    // Not a point of its curve.
    return undefined;
  }
}

/** @param token three canonical segments, as the strict reader passed them */
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
