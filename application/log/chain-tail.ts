/** Which of the checkpoints that the log does not have yet it may sign, in one pass (supplement "Trust in the ledger"). */

import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { visibleKeyId } from '../../domain/ledger/distrust.ts';
import { chainFault, describeFault } from '../../domain/ledger/verification.ts';
import { TILE_WIDTH } from '../../domain/log/tiles.ts';
import { isSameCheckpoint, type TrustedChain } from '../ledger/trusted-chain.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Hash, Turn } from '../ports/runtime.ts';

export interface ChainReading {
  readonly checkpoints: Pick<Checkpoints, 'page'>;
  readonly hash: Hash;
  readonly turn: Turn;
  /** What this process knows of the chain. */
  readonly chain: Pick<TrustedChain, 'examine' | 'signatureFault'>;
}

/** No checkpoint is added. Nothing is stored: a later pass may add them. */
export type NotBelieved =
  /** The examination of the chain says why. */
  | { readonly kind: 'untrusted' }
  /** An operator has to configure a key. Another replica may have it, so the stored log does not halt. */
  | { readonly kind: 'unknown_key'; readonly reason: string }
  /** Another instance stored its tree first. */
  | { readonly kind: 'overtaken' };

/** Hashing a batch takes about two milliseconds. */
export const BATCH = 2 * TILE_WIDTH;

export interface ChainTail {
  /**
   * How many of the new checkpoints a tree may have; or why none, as a sentence if the log must halt.
   *
   * @param logged the last one of the tree
   * @param added those that follow it
   */
  believed(logged: Checkpoint | undefined, added: readonly Checkpoint[]): Promise<number | NotBelieved | string>;
}

/**
 * The end of the chain in one pass. An owner of the database can replace a checkpoint that is not the newest, and not in the
 * log yet. So each new one must have the signature of a configured key, and the chain must lead without a gap from
 * the log to the newest checkpoint that this process examined.
 */
export function chainTail({ chain, checkpoints, hash, turn }: ChainReading): ChainTail {
  /** The checkpoints that end the batches up to the examined one. The links fix all before each of them. */
  let ends: ReadonlyMap<number, Checkpoint> | undefined;

  async function endsAfter(last: Checkpoint, newest: Checkpoint): Promise<ReadonlyMap<number, Checkpoint> | string> {
    const found = new Map([[newest.checkpointId, newest]]);
    for (let previous = last; previous.checkpointId < newest.checkpointId; await turn()) {
      found.set(previous.checkpointId, previous);
      const page = await checkpoints.page(previous.checkpointId, BATCH);
      const upTo = page.filter(({ checkpointId }) => checkpointId <= newest.checkpointId);
      const fault = linkFault(hash, previous, upTo);
      if (fault !== undefined) return fault;
      const end = upTo.at(-1);
      if (end === undefined) return `Checkpoint ${previous.checkpointId + 1} is missing.`;
      if (end.checkpointId === newest.checkpointId && !isSameCheckpoint(end, newest)) return replaced(newest);
      previous = end;
    }
    return found;
  }

  return {
    async believed(logged, added) {
      const fault = linkFault(hash, logged, added);
      if (fault !== undefined) return fault;
      if (ends === undefined) {
        const examined = await chain.examine();
        const last = added.at(-1);
        if (examined.kind === 'untrusted' || examined.newest === undefined || last === undefined) {
          return { kind: 'untrusted' };
        }
        const walked = await endsAfter(last, examined.newest);
        if (typeof walked === 'string') return walked;
        ends = walked;
      }
      // A checkpoint that was sealed after the examination is added by the next pass.
      const count = added.findLastIndex(({ checkpointId }) => ends?.has(checkpointId)) + 1;
      const end = added[count - 1];
      if (end !== undefined && !isSameCheckpoint(end, ends.get(end.checkpointId))) return replaced(end);
      for (const checkpoint of added.slice(0, count)) {
        const unsigned = await chain.signatureFault(checkpoint);
        if (unsigned?.kind === 'unknown_key') return { kind: 'unknown_key', reason: unknownKey(checkpoint) };
        if (unsigned !== undefined) return describeFault(unsigned);
      }
      return count === 0 ? { kind: 'overtaken' } : count;
    },
  };
}

export function linkFault(
  hash: Hash,
  before: Checkpoint | undefined,
  chain: readonly Checkpoint[],
): string | undefined {
  let previous = before;
  for (const next of chain) {
    const fault = chainFault(hash, previous, next);
    if (fault !== undefined) return describeFault(fault);
    previous = next;
  }
  return undefined;
}

export function replaced({ checkpointId }: Checkpoint): string {
  return `Checkpoint ${checkpointId} was replaced while the log grew.`;
}

function unknownKey({ checkpointId, kid }: Checkpoint): string {
  return `Checkpoint ${checkpointId} is signed with the key ${visibleKeyId(kid)}, which is not configured here: if this service signed with that key, configure its public half (Service:Signing:Keys:N). Otherwise another party signed the checkpoint.`;
}
