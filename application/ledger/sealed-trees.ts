/**
 * The trees that proofs were asked from lately. Rebuilding one reads every record of its checkpoint, so it is kept; but
 * not for long, since what was tampered with meanwhile shows only when it is rebuilt.
 */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { CheckpointVerifier } from '../ports/checkpoint-keys.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Clock } from '../ports/clock.ts';
import type { Hash } from '../ports/hash.ts';
import type { Turn } from '../ports/turn.ts';
import { readSealedTree, type SealedTree } from './sealed-tree.ts';

export interface TreeReading {
  readonly checkpoints: Pick<Checkpoints, 'records'>;
  readonly verifier: CheckpointVerifier;
  readonly hash: Hash;
  readonly clock: Clock;
  readonly turn: Turn;
}

export interface SealedTrees {
  /** The checkpoint's tree; `undefined` when its signature is invalid, or its records do not rebuild the signed root. */
  find(checkpoint: Checkpoint): Promise<SealedTree | undefined>;
  /** Has the next one who asks wait for a tree that is read anew, unless this one was replaced already. */
  forget(checkpoint: Checkpoint, tree: SealedTree): void;
}

/** How long tampering can go unnoticed that spares the records a proof is asked for. */
export const KEPT_SECONDS = 60;
/** From then on a tree that is asked for is read anew beside the answer, so that nobody waits for a busy one. */
export const RENEWED_AFTER_SECONDS = 30;
/** Hundreds of checkpoints of fifty thousand records. */
const MAX_BYTES = 32 * 1024 * 1024;

interface Entry {
  /** What was signed, and the signature: a row that says anything else is another checkpoint. */
  readonly identity: string;
  /** When its reading began; `undefined` while it waits in line, and so cannot be out of date. */
  readAt: Instant | undefined;
  readonly tree: Promise<SealedTree | undefined>;
  /** Once it is read. */
  held: SealedTree | undefined;
  renewing: boolean;
}

export function sealedTrees({ checkpoints, verifier, hash, clock, turn }: TreeReading): SealedTrees {
  // By checkpoint, what was asked for the longest ago first.
  const entries = new Map<number, Entry>();
  let line: Promise<unknown> = Promise.resolve();

  /** One after another: many at once would add up to one long piece of work in every turn. */
  function read(checkpoint: Checkpoint, signed: string, begins: () => void): Promise<SealedTree | undefined> {
    const reading = line.then(async () => {
      begins();
      // What does not carry our signature is not the root that was signed, whatever folds to it. A key that is not
      // published any more is another matter: the auditor who kept it can still verify what is answered here.
      const verdict = await verifier.verify(checkpoint.kid, signed, checkpoint.signature);
      if (verdict === 'invalid_signature') return undefined;
      return readSealedTree(hash, { ledger: checkpoints, turn }, checkpoint);
    });
    line = reading.catch(() => undefined);
    return reading;
  }

  function begin(checkpoint: Checkpoint, signed: string): Entry {
    const identity = `${signed} ${checkpoint.signature}`;
    const tree = read(checkpoint, signed, () => {
      entry.readAt = clock.now();
    });
    const entry: Entry = { identity, readAt: undefined, tree, held: undefined, renewing: false };
    tree.then(
      (held) => {
        entry.held = held;
        if (held === undefined) drop(checkpoint.checkpointId, entry);
        else shrink(entry);
      },
      () => drop(checkpoint.checkpointId, entry),
    );
    return entry;
  }

  function drop(checkpointId: number, entry: Entry): void {
    if (entries.get(checkpointId) === entry) entries.delete(checkpointId);
  }

  /** The newest may be as large as it is: whoever asked for it would else wait for it each time. */
  function shrink(newest: Entry): void {
    let bytes = [...entries.values()].reduce((sum, entry) => sum + bytesOf(entry), 0);
    for (const [checkpointId, entry] of entries) {
      if (bytes <= MAX_BYTES) return;
      if (entry === newest) continue;
      entries.delete(checkpointId);
      bytes -= bytesOf(entry);
    }
  }

  function keep(checkpointId: number, entry: Entry): void {
    entries.delete(checkpointId);
    entries.set(checkpointId, entry);
  }

  function renew(checkpoint: Checkpoint, signed: string, entry: Entry): void {
    entry.renewing = true;
    const next = begin(checkpoint, signed);
    next.tree.then(
      (tree) => {
        if (entries.get(checkpoint.checkpointId) !== entry) return;
        if (tree === undefined) entries.delete(checkpoint.checkpointId);
        else keep(checkpoint.checkpointId, next);
      },
      () => {
        entry.renewing = false;
      },
    );
  }

  return {
    find(checkpoint) {
      const { checkpointId, signature } = checkpoint;
      const signed = canonicalCheckpoint(checkpoint);
      const known = entries.get(checkpointId);
      const age = known?.readAt === undefined ? 0 : secondsBetween(known.readAt, clock.now());
      const isCurrent = known?.identity === `${signed} ${signature}` && age >= 0 && age < KEPT_SECONDS;
      const entry = known !== undefined && isCurrent ? known : begin(checkpoint, signed);
      keep(checkpointId, entry);
      if (entry === known && age >= RENEWED_AFTER_SECONDS && !entry.renewing) renew(checkpoint, signed, entry);
      return entry.tree;
    },
    forget({ checkpointId }, tree) {
      if (entries.get(checkpointId)?.held === tree) entries.delete(checkpointId);
    },
  };
}

function bytesOf({ held }: Entry): number {
  return held?.bytes ?? 0;
}
