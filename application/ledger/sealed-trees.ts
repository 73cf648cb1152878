/**
 * A cache of the trees of recent proofs. Rebuilding a tree reads every record of its checkpoint. Entries live only a
 * minute, because tampering with records outside of the proof's block shows only when the tree is rebuilt.
 */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { CheckpointVerifier } from '../ports/keys.ts';
import type { Clock, Hash, Turn } from '../ports/runtime.ts';
import { readSealedTree, type SealedTree } from './sealed-tree.ts';

export interface TreeReading {
  readonly checkpoints: Pick<Checkpoints, 'records'>;
  readonly verifier: CheckpointVerifier;
  readonly hash: Hash;
  readonly clock: Clock;
  readonly turn: Turn;
}

export interface SealedTrees {
  /** The checkpoint's tree; `undefined` if its signature is invalid or its records do not rebuild the signed root. */
  find(checkpoint: Checkpoint): Promise<SealedTree | undefined>;
  /** Removes a stale tree, so that the next `find` reads it again. A newer tree of the checkpoint stays. */
  forget(checkpoint: Checkpoint, tree: SealedTree): void;
}

/** The longest time for which tampering outside of the proved record's block can stay unnoticed. */
export const KEPT_SECONDS = 60;
/** A requested tree of this age is read again in the background, so that proofs seldom wait for a tree. */
export const RENEWED_AFTER_SECONDS = 30;
/** Room for hundreds of checkpoints of fifty thousand records. */
const MAX_BYTES = 32 * 1024 * 1024;

interface Entry {
  /** The signed text and the signature: a checkpoint row with other content never matches this entry. */
  readonly identity: string;
  /** When reading the tree began; `undefined` while the read is queued, when the tree cannot be out of date. */
  readAt: Instant | undefined;
  readonly tree: Promise<SealedTree | undefined>;
  /** The tree, once it has been read. */
  held: SealedTree | undefined;
  renewing: boolean;
}

interface State extends TreeReading {
  /** The key is the checkpoint id. The least recently used entry comes first. */
  readonly entries: Map<number, Entry>;
  /** Resolves when the last queued read has ended. */
  queue: Promise<unknown>;
}

export function sealedTrees({ checkpoints, verifier, hash, clock, turn }: TreeReading): SealedTrees {
  const entries = new Map<number, Entry>();
  const state: State = { checkpoints, verifier, hash, clock, turn, entries, queue: Promise.resolve() };

  return {
    find(checkpoint) {
      const { checkpointId, signature } = checkpoint;
      const signed = canonicalCheckpoint(checkpoint);
      const known = entries.get(checkpointId);
      const age = known?.readAt === undefined ? 0 : secondsBetween(known.readAt, clock.now());
      const isCurrent = known?.identity === `${signed} ${signature}` && age >= 0 && age < KEPT_SECONDS;
      const entry = known !== undefined && isCurrent ? known : begin(state, checkpoint, signed);
      keep(state, checkpointId, entry);
      if (entry === known && age >= RENEWED_AFTER_SECONDS && !entry.renewing) renew(state, checkpoint, signed, entry);
      return entry.tree;
    },
    forget({ checkpointId }, tree) {
      if (entries.get(checkpointId)?.held === tree) entries.delete(checkpointId);
    },
  };
}

function begin(state: State, checkpoint: Checkpoint, signed: string): Entry {
  const identity = `${signed} ${checkpoint.signature}`;
  const tree = read(state, checkpoint, signed, () => {
    entry.readAt = state.clock.now();
  });
  const entry: Entry = { identity, readAt: undefined, tree, held: undefined, renewing: false };
  tree.then(
    (held) => {
      entry.held = held;
      if (held === undefined) drop(state, checkpoint.checkpointId, entry);
      else shrink(state, entry);
    },
    () => drop(state, checkpoint.checkpointId, entry),
  );
  return entry;
}

/** Reads one tree at a time: many at once would block the event loop for long. */
function read(
  state: State,
  checkpoint: Checkpoint,
  signed: string,
  begins: () => void,
): Promise<SealedTree | undefined> {
  const { checkpoints, verifier, hash, turn } = state;
  const reading = state.queue.then(async () => {
    begins();
    // With an invalid signature no proof can be given. An unknown key is accepted: an auditor who kept a key that is
    // not published any more can still verify the proof.
    const verdict = await verifier.verify(checkpoint.kid, signed, checkpoint.signature);
    if (verdict === 'invalid_signature') return undefined;
    return readSealedTree(hash, { ledger: checkpoints, turn }, checkpoint);
  });
  state.queue = reading.catch(() => undefined);
  return reading;
}

function renew(state: State, checkpoint: Checkpoint, signed: string, entry: Entry): void {
  const { checkpointId } = checkpoint;
  entry.renewing = true;
  const next = begin(state, checkpoint, signed);
  next.tree.then(
    (tree) => {
      if (tree === undefined) drop(state, checkpointId, entry);
      else if (state.entries.get(checkpointId) === entry) keep(state, checkpointId, next);
    },
    () => {
      entry.renewing = false;
    },
  );
}

function keep({ entries }: State, checkpointId: number, entry: Entry): void {
  entries.delete(checkpointId);
  entries.set(checkpointId, entry);
}

/** A newer entry of the checkpoint stays. */
function drop({ entries }: State, checkpointId: number, entry: Entry): void {
  if (entries.get(checkpointId) === entry) entries.delete(checkpointId);
}

/** Keeps the newest tree even if it is too large: otherwise every proof from it would wait for a new read. */
function shrink({ entries }: State, newest: Entry): void {
  let bytes = [...entries.values()].reduce((sum, entry) => sum + bytesOf(entry), 0);
  for (const [checkpointId, entry] of entries) {
    if (bytes <= MAX_BYTES) return;
    if (entry === newest) continue;
    entries.delete(checkpointId);
    bytes -= bytesOf(entry);
  }
}

function bytesOf({ held }: Entry): number {
  return held?.bytes ?? 0;
}
