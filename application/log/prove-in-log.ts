/** Makes proofs from the tiles of the transparency log: that a checkpoint is in it, and that a tree begins with another. */

import { type Checkpoint, toHex } from '../../domain/ledger/checkpoint.ts';
import { entryHash, HASH_BYTES } from '../../domain/ledger/merkle-tree.ts';
import { parseTreeHead } from '../../domain/log/checkpoint-note.ts';
import { logEntry } from '../../domain/log/log-entry.ts';
import { parseNote } from '../../domain/log/note.ts';
import {
  type ProofPlan,
  planConsistency,
  planInclusion,
  provesConsistency,
  provesInclusion,
  readProof,
  tilesOf,
} from '../../domain/log/tree-proofs.ts';
import type { Hash } from '../ports/runtime.ts';
import type { PublishedNote, TransparencyLog } from '../ports/transparency-log.ts';

interface LogProving {
  readonly log: Pick<TransparencyLog, 'tiles'>;
  readonly hash: Hash;
}

interface LogProof {
  /** The index of the leaf. */
  readonly checkpointIndex: number;
  /** Lowercase hex, from the leaf's sibling upwards. */
  readonly inclusionPath: readonly string[];
  /** The note whose tree the path leads to. */
  readonly note: string;
}

export type LogProofOutcome =
  | { readonly kind: 'proof'; readonly proof: LogProof }
  /** The published tree does not have the checkpoint yet. */
  | { readonly kind: 'not_logged' }
  /** The checkpoint or the tiles no longer lead to the signed root. */
  | { readonly kind: 'broken' };

export async function proveInLog(
  service: LogProving,
  checkpoint: Checkpoint,
  published: PublishedNote | undefined,
): Promise<LogProofOutcome> {
  const index = checkpoint.checkpointId - 1;
  if (published === undefined || index >= published.size) return { kind: 'not_logged' };
  const head = parseTreeHead(parseNote(published.note)?.text ?? '');
  const path = head && (await inclusionPath(service, checkpoint, head));
  if (path === undefined) return { kind: 'broken' };
  return { kind: 'proof', proof: { checkpointIndex: index, inclusionPath: path.map(toHex), note: published.note } };
}

interface Tree {
  readonly size: number;
  readonly root: Uint8Array;
}

/** The path that proves that the tree has the checkpoint as its leaf; `undefined` if none does. */
export async function inclusionPath(
  service: LogProving,
  checkpoint: Checkpoint,
  { size, root }: Tree,
): Promise<readonly Uint8Array[] | undefined> {
  const index = checkpoint.checkpointId - 1;
  if (index >= size) return undefined;
  const path = await proof(service, planInclusion(index, size));
  const leaf = entryHash(service.hash, logEntry(checkpoint));
  return path !== undefined && provesInclusion(service.hash, { leaf, index, path, size, root }) ? path : undefined;
}

/** Whether the stored tiles prove that the tree begins with the old one. */
export async function isContinued(service: LogProving, old: Tree, { size, root }: Tree): Promise<boolean> {
  if (size < old.size) return false;
  const path = await proof(service, planConsistency(old.size, size));
  if (path === undefined) return false;
  return provesConsistency(service.hash, { oldSize: old.size, oldRoot: old.root, size, root, path });
}

/** The proof that the tree of `size` leaves begins with that of `oldSize`. @throws if a tile is missing */
export async function proveConsistency(
  service: LogProving,
  oldSize: number,
  size: number,
): Promise<readonly Uint8Array[]> {
  const path = await proof(service, planConsistency(oldSize, size));
  if (path === undefined) throw new Error('A tile of the log is missing or too short.');
  return path;
}

/** `undefined` if a tile is missing or too short. */
async function proof({ log, hash }: LogProving, plan: ProofPlan): Promise<readonly Uint8Array[] | undefined> {
  const tiles = await log.tiles(tilesOf(plan));
  const hashes = readProof(hash, plan, (level, index) => {
    return tiles.find((tile) => tile?.level === level && tile.index === index)?.hashes ?? new Uint8Array();
  });
  return hashes.every(({ length }) => length === HASH_BYTES) ? hashes : undefined;
}
