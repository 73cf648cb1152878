/**
 * Compares a ledger with its transparency log while application/ledger/verify.ts walks the checkpoints. Each checkpoint
 * must be its leaf in the log of the same database. Each signed root must be that of the leaves' tree. An auditor can add
 * the tree of a note that was kept elsewhere.
 */

import { type Checkpoint, toHex } from '../../domain/ledger/checkpoint.ts';
import type { LogFault } from '../../domain/ledger/log-fault.ts';
import { entryHash, HASH_BYTES } from '../../domain/ledger/merkle-tree.ts';
import { parseTreeHead, type TreeHead } from '../../domain/log/checkpoint-note.ts';
import { type GrowingTree, grown, rootOf, type StoredTile } from '../../domain/log/growing-tree.ts';
import { logEntry } from '../../domain/log/log-entry.ts';
import { parseNote } from '../../domain/log/note.ts';
import { TILE_WIDTH } from '../../domain/log/tiles.ts';
import type { CheckpointFollower } from '../ledger/verify.ts';
import type { Hash } from '../ports/runtime.ts';
import type { LogState, TransparencyLog } from '../ports/transparency-log.ts';

interface LogComparison {
  readonly hash: Hash;
  readonly log: Pick<TransparencyLog, 'tiles'>;
  /** Read before the walk, so that the ledger has all of its checkpoints; `undefined` if the ledger has no log. */
  readonly state: LogState | undefined;
  /** The tree of the auditor's note. */
  readonly note: Pick<TreeHead, 'size' | 'root'> | undefined;
}

const EMPTY: GrowingTree = { size: 0, edge: [] };

interface SignedTree {
  readonly of: 'log' | 'note';
  readonly size: number;
  readonly root: Uint8Array;
}

export function logComparison({ hash, log, state, note }: LogComparison): CheckpointFollower {
  const stored = state === undefined ? [] : storedTrees(state);
  const trees: readonly SignedTree[] = [
    ...(stored ?? []),
    ...(note === undefined ? [] : [{ of: 'note' as const, size: note.size, root: note.root }]),
  ];
  const storedSize = stored?.[0]?.size ?? 0;
  const largest = Math.max(0, ...trees.map(({ size }) => size));
  let tree: GrowingTree = EMPTY;
  let added: Uint8Array[] = [];
  let leaves: StoredTile | undefined;

  const storedTile = async (level: number, index: number) => (await log.tiles([{ level, index }]))[0];

  async function isStoredLeaf(leaf: Uint8Array, at: number): Promise<boolean> {
    const index = Math.floor(at / TILE_WIDTH);
    if (leaves?.index !== index) leaves = await storedTile(0, index);
    return leaves !== undefined && isEqual(hashesOf(leaves, at % TILE_WIDTH, 1), leaf);
  }

  /** Adds the leaves. The upper tiles of the log must be the ones that change; the leaves were compared before. */
  async function grow(): Promise<LogFault | undefined> {
    const next = grown(hash, tree, added);
    [tree, added] = [next.tree, []];
    if (tree.size > storedSize) return undefined;
    for (const { level, index, hashes } of next.tiles.filter((tile) => tile.level > 0)) {
      const held = await storedTile(level, index);
      // The log may have grown meanwhile: its tile is then longer.
      if (held === undefined || !isEqual(hashesOf(held, 0, hashes.length / HASH_BYTES), hashes)) {
        return { kind: 'log_tile', level, index };
      }
    }
    return undefined;
  }

  function rootFault(of: GrowingTree): LogFault | undefined {
    const due = trees.filter(({ size }) => size === of.size);
    if (due.length === 0) return undefined;
    const root = rootOf(hash, of);
    const other = due.find((signed) => !isEqual(signed.root, root));
    return other && { kind: 'log_root', of: other.of, size: other.size };
  }

  return {
    async next(checkpoint: Checkpoint) {
      const { checkpointId } = checkpoint;
      if (checkpointId > largest) return undefined;
      const leaf = entryHash(hash, logEntry(checkpoint));
      if (checkpointId <= storedSize && !(await isStoredLeaf(leaf, checkpointId - 1))) {
        return { kind: 'log_leaf', checkpointId };
      }
      added.push(leaf);
      const isDue = checkpointId % TILE_WIDTH === 0 || trees.some(({ size }) => size === checkpointId);
      return isDue ? ((await grow()) ?? rootFault(tree)) : undefined;
    },

    end(newestId) {
      if (stored === undefined) return { kind: 'log_state' };
      const ahead = trees.find(({ size }) => size > newestId);
      if (ahead !== undefined) return { kind: 'log_ahead', of: ahead.of, size: ahead.size, newestId };
      return rootFault(EMPTY);
    },
  };
}

/** The trees that the database says were signed, the newest first; `undefined` if they contradict each other. */
function storedTrees({ size, root, note, published }: LogState): readonly SignedTree[] | undefined {
  const bytes = Buffer.from(root, 'hex');
  if (!Number.isSafeInteger(size) || size < 0 || toHex(bytes) !== root || bytes.length !== HASH_BYTES) return undefined;
  const newest = { of: 'log', size, root: bytes } as const;
  const signed = headOf(note);
  const shown = headOf(published?.note);
  if (note !== undefined && (signed?.size !== size || !isEqual(signed.root, bytes))) return undefined;
  if (published === undefined) return [newest];
  if (shown === undefined || shown.size !== published.size || shown.size > size) return undefined;
  return [newest, { of: 'log', size: shown.size, root: shown.root }];
}

function headOf(note: string | undefined): TreeHead | undefined {
  const parsed = note === undefined ? undefined : parseNote(note);
  return parsed && parseTreeHead(parsed.text);
}

function hashesOf({ hashes }: StoredTile, start: number, count: number): Uint8Array {
  return hashes.subarray(start * HASH_BYTES, (start + count) * HASH_BYTES);
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
