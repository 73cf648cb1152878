/**
 * Why a process does not seal (specification "Ledger and seal"; supplement "Trust in the ledger"): the next checkpoint
 * would link to a chain that this process cannot trust.
 */

import { visibleExcerpt } from '../visible.ts';
import { type Checkpoint, checkpointHash } from './checkpoint.ts';
import type { Hash } from './merkle-tree.ts';
import { chainFault, describeFault } from './verification.ts';

export type Distrust =
  /** No configured key has the id of the key that signed the newest checkpoint. */
  | { readonly kind: 'unknown_key'; readonly checkpointId: number; readonly kid: string }
  | { readonly kind: 'invalid_signature'; readonly checkpointId: number; readonly kid: string }
  /** A value of one of them is impossible, so nothing can be compared or verified. */
  | { readonly kind: 'unreadable' }
  /** @property newestId 0 if there are no checkpoints */
  | { readonly kind: 'known_is_missing'; readonly checkpointId: number; readonly newestId: number }
  | { readonly kind: 'known_is_another'; readonly checkpointId: number }
  /** A later checkpoint does not continue the known one. `sentence` says how. */
  | { readonly kind: 'chain_broken'; readonly checkpointId: number; readonly sentence: string };

/**
 * The fault if the checkpoints do not continue the known one.
 *
 * @param chain the checkpoints from the number of the known one, in order; at least one
 */
export function continuityFault(hash: Hash, known: Checkpoint, chain: readonly Checkpoint[]): Distrust | undefined {
  const { checkpointId } = known;
  const [same, ...later] = chain;
  if (same?.checkpointId !== checkpointId || checkpointHash(hash, same) !== checkpointHash(hash, known)) {
    return { kind: 'known_is_another', checkpointId };
  }
  let previous = same;
  for (const next of later) {
    const fault = chainFault(hash, previous, next);
    if (fault !== undefined) {
      return { kind: 'chain_broken', checkpointId: fault.checkpointId, sentence: describeFault(fault) };
    }
    previous = next;
  }
  return undefined;
}

/** For an operator: what was found, and what to do. */
export function describeDistrust(fault: Distrust): string {
  switch (fault.kind) {
    case 'unknown_key':
      return `The newest checkpoint, ${fault.checkpointId}, is signed with the key ${visibleKeyId(fault.kid)}, which is not configured here. Compare that key with the key set that you kept. If the set has it, configure its public half; if another replica signs with it, configure it here too. Otherwise another party signed the checkpoint: never configure a key only because the ledger names it.`;
    case 'invalid_signature':
      return `The newest checkpoint, ${fault.checkpointId}, names the configured key ${visibleKeyId(fault.kid)}, but that key did not make its signature: another party altered or signed it.`;
    case 'unreadable':
      return 'The newest checkpoints cannot be read: a value of one of them is impossible.';
    case 'known_is_missing':
      return fault.newestId === 0
        ? `Checkpoint ${fault.checkpointId} is missing, which this process saw: there are no checkpoints at all.`
        : `Checkpoint ${fault.checkpointId} is missing, which this process saw: the newest is ${fault.newestId}.`;
    case 'known_is_another':
      return `Checkpoint ${fault.checkpointId} is not the one that this process saw: it was replaced.`;
    case 'chain_broken':
      return fault.sentence;
  }
}

/** A thumbprint has 43 characters. */
const MAX_KEY_ID = 80;

/** The id of a key as the ledger has it. Anyone who can write to the database may have chosen it. */
export function visibleKeyId(kid: string): string {
  return visibleExcerpt(kid, MAX_KEY_ID);
}
