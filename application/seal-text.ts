/** Hashes a text for the ledger. The text itself is kept beside the ledger. */

import { hashOfText, type SealedText } from '../domain/ledger/sealed-text.ts';
import type { Digest, Randomness } from './ports/runtime.ts';

export interface Sealing {
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly digest: Digest;
}

/** 256 bits, so that a deleted text cannot be guessed. */
export const SALT_BYTES = 32;

export function sealText({ randomness, digest }: Sealing, text: string): SealedText {
  const salt = randomness.secret(SALT_BYTES);
  return { salt, hash: hashOfText(digest, salt, text) };
}
