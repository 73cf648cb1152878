/** A checkpoint: one sealed range of the ledger (specification "Checkpoint", "Ledger and seal"). */

import type { Instant } from '../instant.ts';

/** What a checkpoint's signature covers. */
export interface UnsignedCheckpoint {
  /** Counted from 1, without a hole. */
  readonly checkpointId: number;
  /** The first begins at 1, every other exactly where the previous one ended. */
  readonly firstSeq: number;
  /** Inclusive; the number of a record that is held. */
  readonly lastSeq: number;
  /** The records held in the range: numbers that were taken by appends which rolled back are holes in it. */
  readonly treeSize: number;
  /** Lowercase hex. */
  readonly rootHash: string;
  /** SHA-256 of the previous checkpoint's signed bytes, in lowercase hex; `undefined` on the first. */
  readonly prevCheckpointHash: string | undefined;
  /** Stored to the microsecond; what is signed and published shows the millisecond. */
  readonly closedAt: Instant;
  /** The key that signed. */
  readonly kid: string;
}

export interface Checkpoint extends UnsignedCheckpoint {
  /** ES256 (r and s, 64 bytes) over the canonical JSON of the rest, in lowercase hex. */
  readonly signature: string;
}
