/** Signs checkpoints with one of the service's own keys (specification "Ledger and seal"). */

import { KeyObject } from 'node:crypto';
import type { CheckpointSigner } from '../../application/ports/checkpoint-keys.ts';
import { makeSignature } from './signature.ts';
import { SIGNING_ALGORITHM, type SigningKey } from './signing-key.ts';

export function checkpointSigner({ keyId, privateKey }: SigningKey): CheckpointSigner {
  const key = KeyObject.from(privateKey);
  return {
    kid: keyId,
    async sign(text) {
      // Tokens are signed with the same key, over text that has no brace in it: neither passes for the other.
      const signature = await makeSignature(SIGNING_ALGORITHM, key, Buffer.from(text));
      return signature.toString('hex');
    },
  };
}
