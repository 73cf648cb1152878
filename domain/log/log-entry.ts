/** A leaf of the log: a checkpoint of the ledger, in the bytes in which `GET /audit/checkpoints` prints it. */

import { type Checkpoint, presentCheckpoint } from '../ledger/checkpoint.ts';

/** Leaf n is checkpoint n + 1. */
export function logEntry(checkpoint: Checkpoint): Uint8Array {
  return Buffer.from(JSON.stringify(presentCheckpoint(checkpoint)));
}
