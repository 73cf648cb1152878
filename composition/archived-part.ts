/** What has left the ledger, for a command that is no verification. */

import { eventLoopTurn, systemClock } from '../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../adapters/platform/system-crypto.ts';
import { type FindArchivedPart, findArchivedPart, type PartReading } from '../application/ledger/find-archived-part.ts';
import { sealedTrees } from '../application/ledger/sealed-trees.ts';
import type { CheckpointVerifier } from '../application/ports/keys.ts';

/** With it no record is proved. */
export const NO_KEY: CheckpointVerifier = { verify: async () => 'unknown_key' };

/** @param verifier of the configured keys. Without one no signature is checked */
export function provedArchivedPart(
  checkpoints: PartReading['checkpoints'],
  verifier: CheckpointVerifier | undefined,
): FindArchivedPart {
  const reading = { checkpoints, hash: sha256Bytes };
  const trees = sealedTrees({ ...reading, verifier: verifier ?? NO_KEY, clock: systemClock(), turn: eventLoopTurn });
  return findArchivedPart({ ...reading, verifier, trees });
}
