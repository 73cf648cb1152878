/** A signing key: its PEM text, its key set, and the signer and verifier of checkpoints with it. */

import { checkpointSigner, checkpointVerifier } from '../../../adapters/jose/checkpoint-signatures.ts';
import { readSigningKey } from '../../../adapters/jose/signing-key.ts';
import type { CheckpointSigner, CheckpointVerifier } from '../../../application/ports/keys.ts';
import type { JwkSet } from '../../../domain/agents/public-key.ts';
import { makeSigningKey } from '../signing-key.ts';

export interface SealingKey {
  readonly pem: string;
  readonly jwks: JwkSet;
  readonly signer: CheckpointSigner;
  readonly verifier: CheckpointVerifier;
}

export async function makeSealingKey(): Promise<SealingKey> {
  const { privateKey } = await makeSigningKey('ES256');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const read = await readSigningKey(pem);
  if (read.kind !== 'read') throw new Error('the key cannot be read');
  const jwks = { keys: [read.key.publicJwk] };
  return { pem, jwks, signer: checkpointSigner(read.key), verifier: checkpointVerifier(jwks) };
}
