/** Signs checkpoints with one of the service's own keys (specification "Ledger and seal"). */

import type { CheckpointSigner } from '../../application/ports/keys.ts';
import type { SigningKey } from './signing-key.ts';

export function checkpointSigner(key: SigningKey): CheckpointSigner {
  return {
    kid: key.keyId,
    async sign(text) {
      // Tokens are signed with the same key, but their text has no brace, so no signature is valid for both.
      const signature = await key.sign(Buffer.from(text));
      return signature.toString('hex');
    },
  };
}
