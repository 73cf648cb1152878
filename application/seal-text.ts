/** Hashes a text for the ledger: a purpose, a reason, the words of an approval. The text itself is kept beside the ledger. */

import type { SealedText } from '../domain/ledger/sealed-text.ts';
import type { Digest, Randomness } from './ports/runtime.ts';

export interface Sealing {
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly digest: Digest;
}

/** 256 bits, so that a deleted text cannot be guessed. */
const SALT_BYTES = 32;

/** @param committed what is hashed: the text with its salt */
export function sealText({ randomness, digest }: Sealing, committed: (salt: string) => string): SealedText {
  const salt = randomness.secret(SALT_BYTES);
  return { salt, hash: digest(committed(salt)) };
}
