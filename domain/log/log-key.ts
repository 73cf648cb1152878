/** The list of keys, for readers of the log (`GET /log/keys`). */

import type { Instant } from '../instant.ts';

/** A key that signs, or signed, checkpoints or the notes of the log. */
export interface LogKey {
  readonly use: 'checkpoint' | 'log';
  readonly kid: string;
  /** RFC 7638. */
  readonly thumbprint: string;
  /** The JWK as JSON of a key of checkpoints, the verifier key of a key of the log. */
  readonly publicKey: string;
  readonly from: Instant;
  /** `undefined` while the key signs. */
  readonly to: Instant | undefined;
}
