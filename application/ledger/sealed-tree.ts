/**
 * A checkpoint's Merkle tree for proofs, without its lower levels. Records are hashed in blocks, and only each block's
 * root is kept. A proof reads the records of its block again, and takes the upper part of its path from here. So a tree
 * of half a million records takes half a megabyte, and every proof detects tampering with its block.
 */

import { canonicalRecord } from '../../domain/ledger/canonical-json.ts';
import { type Checkpoint, toHex } from '../../domain/ledger/checkpoint.ts';
import { foldPath, type Hash, leafHash, type MerkleTree, merkleTree } from '../../domain/ledger/merkle-tree.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { SeqRange } from '../ports/checkpoints.ts';
import { type PagedReading, recordPages } from './record-pages.ts';

/** Records per block. A power of two, so that every block but the last is a full subtree. A proof reads one block. */
export const BLOCK_SIZE = 64;

/** Reading and hashing a page takes about two milliseconds. */
const PAGE_SIZE = 4 * BLOCK_SIZE;

export interface SealedTree {
  /** The block for a sequence number, whether or not a record has it. */
  blockOf(seq: number): SealedBlock;
  /** The memory that the tree takes. */
  readonly bytes: number;
}

export interface SealedBlock {
  /** The blocks' ranges cover the checkpoint's range without gaps, so every inserted record falls into one of them. */
  readonly range: SeqRange;
  /** The index of its first leaf. */
  readonly firstIndex: number;
  /** The hashes that lead from the block's root to the signed root. */
  readonly path: readonly Uint8Array[];
  /** Whether these records are the sealed block: whether they lead to the signed root. */
  holds(records: MerkleTree): boolean;
}

/** Rebuilds the tree from the ledger's rows; `undefined` if its root is not the signed one. */
export async function readSealedTree(
  hash: Hash,
  reading: Omit<PagedReading, 'pageSize'>,
  checkpoint: Checkpoint,
): Promise<SealedTree | undefined> {
  const { firstSeq, lastSeq, treeSize, rootHash } = checkpoint;
  // Refuse an impossible size before allocating memory for it.
  if (treeSize < 1 || treeSize > lastSeq - firstSeq + 1) return undefined;
  const blockCount = Math.ceil(treeSize / BLOCK_SIZE);
  const firstSeqs = new Float64Array(blockCount);
  const blocks = merkleTree(hash, blockCount);
  let held = 0;
  for await (const page of recordPages({ ...reading, pageSize: PAGE_SIZE }, { firstSeq, lastSeq })) {
    // Each page but the last holds whole blocks.
    for (let start = 0; start < page.length; start += BLOCK_SIZE) {
      const block = page.slice(start, start + BLOCK_SIZE);
      held += block.length;
      if (held > treeSize) return undefined;
      firstSeqs[blocks.size] = block[0]?.seq ?? 0;
      blocks.add(treeOf(hash, block).root());
    }
  }
  if (held !== treeSize || toHex(blocks.root()) !== rootHash) return undefined;
  return { blockOf: (seq) => blockAt(hash, { checkpoint, firstSeqs, blocks }, seq), bytes: bytesOf(blockCount) };
}

/** @param block every record read for a block. An inserted record changes the size or the root */
export function treeOf(hash: Hash, block: readonly LedgerRecord[]): MerkleTree {
  const tree = merkleTree(hash, block.length);
  for (const record of block) tree.add(leafHash(hash, canonicalRecord(record)));
  return tree;
}

interface Blocks {
  readonly checkpoint: Checkpoint;
  readonly firstSeqs: Float64Array;
  readonly blocks: MerkleTree;
}

function blockAt(hash: Hash, { checkpoint, firstSeqs, blocks }: Blocks, seq: number): SealedBlock {
  const index = lastAtMost(firstSeqs, seq);
  const next = firstSeqs[index + 1];
  const path = blocks.path(index);
  const isLast = next === undefined;
  const size = isLast ? checkpoint.treeSize - index * BLOCK_SIZE : BLOCK_SIZE;
  return {
    range: {
      firstSeq: index === 0 ? checkpoint.firstSeq : (firstSeqs[index] ?? 0),
      lastSeq: isLast ? checkpoint.lastSeq : next - 1,
    },
    firstIndex: index * BLOCK_SIZE,
    path,
    holds(records) {
      if (records.size !== size) return false;
      const root = foldPath(hash, { leaf: records.root(), index, size: blocks.size, path });
      return root !== undefined && toHex(root) === checkpoint.rootHash;
    },
  };
}

/** The index of the last number not above `seq`, or 0. */
function lastAtMost(numbers: Float64Array, seq: number): number {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((numbers[middle] ?? 0) <= seq) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Two nodes of 32 bytes and a number of 8 for each block, and an estimate for the objects. */
function bytesOf(blockCount: number): number {
  return 1024 + blockCount * 72;
}
