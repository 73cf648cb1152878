/**
 * Verifies checkpoints with published keys (specification "Ledger and seal"): the service's own, or an auditor's copy
 * of a key set.
 */

import type { CheckpointVerifier } from '../../application/ports/keys.ts';
import type { JwkSet } from '../../domain/agents/jwk.ts';
import { inspectKey, type KeyRules, type UsableKey } from '../../domain/agents/public-key.ts';
import { isJsonObject, type Json, member } from '../../domain/tokens/strict-json.ts';
import { importKeys } from './key-ring.ts';
import { isSignature } from './signature.ts';
import { SIGNING_ALGORITHM } from './signing-key.ts';

const KEY_RULES: KeyRules = { algorithms: [SIGNING_ALGORITHM], kinds: 'an EC key on P-256' };

/** The only encoding of a signature: r and s, 64 bytes, in lowercase hex. */
const SIGNATURE = /^[0-9a-f]{128}$/;

/** @param jwks the service's own keys, already checked */
export function checkpointVerifier(jwks: JwkSet): CheckpointVerifier {
  return verifierWith(jwks.keys.map((jwk) => ({ jwk, algorithms: [SIGNING_ALGORITHM] })));
}

/**
 * A verifier with the ES256 keys of an external set; other keys are ignored. `undefined` if the value is not a key set,
 * or has no usable key.
 */
export function readCheckpointVerifier(jwks: Json | undefined): CheckpointVerifier | undefined {
  const listed = isJsonObject(jwks) ? member(jwks, 'keys') : undefined;
  if (!Array.isArray(listed)) return undefined;
  const keys = listed.flatMap((value: Json) => {
    const verdict = inspectKey(value, KEY_RULES);
    return verdict.kind === 'usable' && verdict.key.jwk.kid !== undefined ? verdict.key : [];
  });
  return keys.length === 0 ? undefined : verifierWith(keys);
}

function verifierWith(keys: readonly UsableKey[]): CheckpointVerifier {
  const imported = importKeys(keys);
  return {
    async verify(kid, text, signature) {
      // A set that was merged over the years may repeat a key, or have two keys with one name. The auditor trusts the
      // whole set, so each key is tried.
      const named = (await imported).filter((key) => key.keyId === kid);
      if (named.length === 0) return 'unknown_key';
      if (!SIGNATURE.test(signature)) return 'invalid_signature';
      const input = Buffer.from(text);
      const bytes = Buffer.from(signature, 'hex');
      for (const { key } of named) {
        if (await isSignature(SIGNING_ALGORITHM, key, input, bytes)) return 'verified';
      }
      return 'invalid_signature';
    },
  };
}
