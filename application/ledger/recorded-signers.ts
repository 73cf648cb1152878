/**
 * The signatures of checkpoints, by published keys and by keys that only the transparency log recorded
 * (domain/ledger/recorded-keys.ts).
 */

import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { believedBefore, type KeyNaming } from '../../domain/ledger/recorded-keys.ts';
import type { VerificationFault } from '../../domain/ledger/verification.ts';
import type { CheckpointVerdict, CheckpointVerifier } from '../ports/keys.ts';

/** A key of checkpoints that is not published. */
export interface RecordedKey {
  readonly kid: string;
  /** RFC 7638, computed from the key. */
  readonly thumbprint: string;
  readonly verifier: CheckpointVerifier;
}

/** Follows the checkpoints of recorded keys, and the records that name these keys. */
export function recordedSigners(keys: readonly RecordedKey[]) {
  const used = new Map<RecordedKey, { readonly first: number; last: number }>();
  const namings = new Map<string, KeyNaming>();
  return {
    /** The recorded key that signed the checkpoint. Whether it is believed is known only at the end. */
    async signer(checkpoint: Checkpoint): Promise<RecordedKey | undefined> {
      const { checkpointId } = checkpoint;
      for (const key of keys) {
        if ((await signatureVerdict(key.verifier, checkpoint)) !== 'verified') continue;
        used.set(key, { first: used.get(key)?.first ?? checkpointId, last: checkpointId });
        return key;
      }
      return undefined;
    },
    /** Keeps the newest record of each key and signer: it confirms all that older ones would. */
    named(naming: KeyNaming): void {
      if (!keys.some(({ thumbprint }) => thumbprint === naming.thumbprint)) return;
      namings.set(`${naming.thumbprint} ${naming.signer}`, naming);
    },
    fault(): VerificationFault | undefined {
      const before = believedBefore([...namings.values()]);
      for (const [{ thumbprint }, { first, last }] of used) {
        if (last >= (before.get(thumbprint) ?? 0)) return { kind: 'unknown_key', checkpointId: first };
      }
      return undefined;
    },
    used: () => [...used.keys()].map(({ kid, thumbprint }) => ({ kid, thumbprint })),
  };
}

export function signatureVerdict(verifier: CheckpointVerifier, checkpoint: Checkpoint): Promise<CheckpointVerdict> {
  const verdict = verifier.verify(checkpoint.kid, canonicalCheckpoint(checkpoint), checkpoint.signature);
  // An earlier fault may end the verification before this promise is awaited: its rejection must not be unhandled.
  verdict.catch(() => undefined);
  return verdict;
}
