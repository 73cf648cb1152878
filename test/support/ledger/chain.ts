import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { type TrustedChain, trustedChain } from '../../../application/ledger/trusted-chain.ts';
import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import type { CheckpointVerifier } from '../../../application/ports/keys.ts';
import { capturedLog } from '../captured-log.ts';

/** The memory of a process that starts now. Without a verifier it trusts every signature of the ledger that it finds. */
export function chainOf(
  checkpoints: Pick<Checkpoints, 'newest' | 'page' | 'usedTwice'>,
  verifier: CheckpointVerifier = { verify: async () => 'verified' },
  log = capturedLog(),
): TrustedChain {
  return trustedChain({ checkpoints, verifier, isKeyGenerated: false, hash: sha256Bytes, turn: eventLoopTurn, log });
}
