/** All signing keys of the service are published. The active one signs (specification "Configuration rules"). */

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SigningKeys } from '../../application/ports/keys.ts';
import { atMost } from './cache-size.ts';
import { checkpointSigner } from './checkpoint-signatures.ts';
import { importKeys, verifyWithRing } from './key-ring.ts';
import { canSign, type PublicHalf, SIGNING_ALGORITHM, type SigningKey } from './signing-key.ts';

type ChosenSigningKeys =
  | { readonly kind: 'chosen'; readonly signingKeys: SigningKeys }
  | { readonly kind: 'no_keys' | 'repeated_key_id' | 'active_key_id_missing' | 'active_key_id_unknown' }
  /** Only its public half is configured. */
  | { readonly kind: 'active_key_cannot_sign'; readonly active: PublicHalf };

/**
 * How many verified tokens are cached. The cache helps because tokens for a high-risk audience are introspected on every
 * call. An entry is a hash, so the cache takes about two megabytes.
 */
const MAX_VERIFIED = 10_000;

/** @param activeKeyId optional if there is only one key */
export async function signingKeys(
  keys: readonly PublicHalf[],
  activeKeyId: string | undefined,
): Promise<ChosenSigningKeys> {
  const [only] = keys;
  if (only === undefined) return { kind: 'no_keys' };
  if (new Set(keys.map((key) => key.keyId)).size < keys.length) return { kind: 'repeated_key_id' };
  if (activeKeyId === undefined && keys.length > 1) return { kind: 'active_key_id_missing' };
  const active = activeKeyId === undefined ? only : keys.find((key) => key.keyId === activeKeyId);
  if (active === undefined) return { kind: 'active_key_id_unknown' };
  if (!canSign(active)) return { kind: 'active_key_cannot_sign', active };
  return { kind: 'chosen', signingKeys: await withActive(active, keys) };
}

/** The keys of a service that has only this one. */
export function onlySigningKey(key: SigningKey): Promise<SigningKeys> {
  return withActive(key, [key]);
}

async function withActive(active: SigningKey, keys: readonly PublicHalf[]): Promise<SigningKeys> {
  const published = { keys: keys.map((key) => key.publicJwk) };
  const ring = await importKeys(keys.map((key) => ({ jwk: key.publicJwk, algorithms: [SIGNING_ALGORITHM] })));
  // The keys do not change while the process runs, so a verified token stays verified.
  const verified = new LRUCache<string, true>(atMost(MAX_VERIFIED));
  const headers = new Map<string, string>();
  const header = (type: string): string => {
    const known = headers.get(type);
    if (known !== undefined) return known;
    const made = encode({ alg: SIGNING_ALGORITHM, typ: type, kid: active.keyId });
    headers.set(type, made);
    return made;
  };
  return {
    async sign(type, claims) {
      // The JWS compact serialization (RFC 7515 §7.1).
      const input = `${header(type)}.${encode(claims)}`;
      return `${input}.${active.sign(Buffer.from(input)).toString('base64url')}`;
    },
    async verify(jws) {
      const digest = hash('sha256', jws.text, 'base64url');
      if (verified.get(digest)) return true;
      const verdict = await verifyWithRing(ring, jws, [SIGNING_ALGORITHM]);
      if (verdict.kind === 'verified') verified.set(digest, true);
      return verdict.kind === 'verified';
    },
    published: () => published,
    checkpoints: checkpointSigner(active),
  };
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
