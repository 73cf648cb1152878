/**
 * Keys of checkpoints that the ledger itself names (supplement "Trust in the ledger"). A record proves only that it was
 * written, and an owner of the database can write one. So these keys are never believed by default: a reader of the
 * ledger has to ask for it.
 */

import type { LedgerRecord } from './record.ts';

/** How every report begins that needed such a key. It never says that the seal is intact. */
export const VERIFIED_WITH_RECORDED_KEYS = 'Verified with keys that the ledger itself names';

/** The RFC 7638 thumbprint of the key of checkpoints that the record names. */
export function namedKey({ event, reason, detail }: Pick<LedgerRecord, 'event' | 'reason' | 'detail'>) {
  const isKey = event === 'key.activated' || event === 'key.retired';
  return isKey && reason === 'checkpoint_key' ? detail : undefined;
}

/** A sealed record that names a key. */
export interface KeyNaming {
  /** The key that the record names, by its RFC 7638 thumbprint. */
  readonly thumbprint: string;
  /** The checkpoint that seals the record. */
  readonly checkpointId: number;
  /** The key that signed this checkpoint, by its thumbprint; `undefined` for a key that is believed anyway. */
  readonly signer: string | undefined;
}

/**
 * The checkpoint before which each named key is believed. A key is believed for all of its checkpoints or for none: only
 * if a checkpoint by a believed key seals a record that names it, and follows its last one.
 */
export function believedBefore(namings: readonly KeyNaming[]): ReadonlyMap<string, number> {
  const before = new Map<string, number>();
  for (let grows = true; grows; ) {
    grows = false;
    for (const { thumbprint, checkpointId, signer } of namings) {
      const isBelieved = signer === undefined || checkpointId < (before.get(signer) ?? 0);
      if (!isBelieved || checkpointId <= (before.get(thumbprint) ?? 0)) continue;
      before.set(thumbprint, checkpointId);
      grows = true;
    }
  }
  return before;
}
