/** The keys of a key set that can verify checkpoints (specification "Ledger and seal"). Every reader uses the same ones. */

import { inspectKey, type KeyRules, type UsableKey } from '../agents/public-key.ts';
import type { Json } from '../tokens/strict-json.ts';

const KEY_RULES: KeyRules = { algorithms: ['ES256'], kinds: 'an EC key on P-256' };

/**
 * Returns the usable ES256 keys. It ignores a key of another type, without a `kid`, for another use, or with a private part.
 * A set may hold a key twice, and several keys with one `kid`: a reader tries each of them.
 */
export function checkpointKeys(
  listed: readonly Json[],
): readonly (UsableKey & { readonly jwk: { readonly kid: string } })[] {
  return listed.flatMap((value) => {
    const verdict = inspectKey(value, KEY_RULES);
    if (verdict.kind === 'unusable') return [];
    const { jwk, algorithms } = verdict.key;
    return jwk.kid === undefined ? [] : [{ algorithms, jwk: { ...jwk, kid: jwk.kid } }];
  });
}
