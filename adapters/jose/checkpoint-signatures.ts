/**
 * Signs checkpoints with the service's active key, and verifies them with published keys (specification "Ledger and
 * seal"). These are the service's own, or those of a key set that an auditor kept.
 */

import type { CheckpointSigner, CheckpointVerifier } from '../../application/ports/keys.ts';
import type { JwkSet, UsableKey } from '../../domain/agents/public-key.ts';
import { checkpointKeys } from '../../domain/ledger/checkpoint-keys.ts';
import { isJsonObject, type Json, member } from '../../domain/tokens/strict-json.ts';
import { importKeys } from './key-ring.ts';
import { isSignature } from './signature.ts';
import { SIGNING_ALGORITHM, type SigningKey } from './signing-key.ts';

export function checkpointSigner(key: SigningKey): CheckpointSigner {
  return {
    kid: key.keyId,
    async sign(text) {
      // The same key signs tokens. A token's signed text has no braces, so neither can pass for the other.
      return key.sign(Buffer.from(text)).toString('hex');
    },
  };
}

/** A signature has only one accepted form: r and s, 64 bytes, in lowercase hex. */
const SIGNATURE = /^[0-9a-f]{128}$/;

/** @param jwks the service's own keys, which are already checked */
export function checkpointVerifier(jwks: JwkSet): CheckpointVerifier {
  return verifierWith(jwks.keys.map((jwk) => ({ jwk, algorithms: [SIGNING_ALGORITHM] })));
}

/**
 * A verifier with the ES256 keys of an external key set. Other keys are skipped. Returns `undefined` if it is no key set,
 * or has no key that can verify a checkpoint.
 */
export function readCheckpointVerifier(jwks: Json | undefined): CheckpointVerifier | undefined {
  const listed = isJsonObject(jwks) ? member(jwks, 'keys') : undefined;
  if (!Array.isArray(listed)) return undefined;
  const keys = checkpointKeys(listed);
  return keys.length === 0 ? undefined : verifierWith(keys);
}

/** Whether one of the keys of a set can verify checkpoints: also a point that is not on its curve cannot. */
export async function holdsCheckpointKey(listed: readonly Json[]): Promise<boolean> {
  return (await importKeys(checkpointKeys(listed))).length > 0;
}

function verifierWith(keys: readonly UsableKey[]): CheckpointVerifier {
  const imported = importKeys(keys);
  return {
    async verify(kid, text, signature) {
      // A key set may contain a key twice, or two keys with one id. All of them are trusted, so all are tried.
      const named = (await imported).filter((key) => key.keyId === kid);
      if (named.length === 0) return 'unknown_key';
      if (!SIGNATURE.test(signature)) return 'invalid_signature';
      const input = Buffer.from(text);
      const bytes = Buffer.from(signature, 'hex');
      const isValid = named.some(({ key }) => isSignature(SIGNING_ALGORITHM, key, input, bytes));
      return isValid ? 'verified' : 'invalid_signature';
    },
  };
}
