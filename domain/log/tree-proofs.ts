/**
 * Inclusion and consistency proofs of a log's tree (RFC 6962 §2.1.1 and §2.1.2), made from tiles, and their
 * verification (RFC 9162 §2.1.3.2 and §2.1.4.2).
 */

import { foldPath, type Hash, half, type Inclusion, nodeHash } from '../ledger/merkle-tree.ts';
import { subtreeRoot, TILE_HEIGHT, TILE_WIDTH } from './tiles.ts';

/** The node over the `2 ** level` leaves from `index * 2 ** level` on. */
interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** A range of leaves whose root is one hash of a proof, as its full nodes from left to right. */
type Range = readonly TreeNode[];

/** Ranges of leaves. The roots of the ranges, in their order, are the proof. */
export type ProofPlan = readonly Range[];

/** The tile with this level and index, at least as wide as the tree of the proof needs it. */
type TileReader = (level: number, index: number) => Uint8Array;

/** Plans the root of a tree. @param size at least 1 */
export function planRoot(size: number): ProofPlan {
  return [fullNodes(0, size)];
}

/** Plans the proof that the tree contains the leaf, from the leaf's sibling up. @param index below `size` */
export function planInclusion(index: number, size: number): ProofPlan {
  const path: Range[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + split(end - start);
    path.unshift(index < middle ? fullNodes(middle, end) : fullNodes(start, middle));
    if (index < middle) end = middle;
    else start = middle;
  }
  return path;
}

/** Plans the proof that the tree begins with the tree of `oldSize` leaves. Empty for 0 and for equal sizes. */
export function planConsistency(oldSize: number, size: number): ProofPlan {
  if (oldSize === 0) return [];
  const path: Range[] = [];
  let [start, end] = [0, size];
  while (end !== oldSize) {
    const middle = start + split(end - start);
    path.unshift(oldSize <= middle ? fullNodes(middle, end) : fullNodes(start, middle));
    if (oldSize <= middle) end = middle;
    else start = middle;
  }
  // The verifier knows the old root already, which this range is if it begins with the first leaf.
  if (start > 0) path.unshift(fullNodes(start, end));
  return path;
}

/** The tiles that a plan reads, each once. */
export function tilesOf(plan: ProofPlan): readonly { readonly level: number; readonly index: number }[] {
  const tiles = new Map(plan.flat().map((node) => [tileOf(node), positionOf(node)]));
  return [...tiles.values()].map(({ level, index }) => ({ level, index }));
}

/** The hashes of a proof. */
export function readProof(hash: Hash, plan: ProofPlan, tile: TileReader): readonly Uint8Array[] {
  return plan.map((range) =>
    range
      .map((node) => {
        const { level, index, start, count } = positionOf(node);
        return subtreeRoot(hash, tile(level, index), start, count);
      })
      .reduceRight((right, left) => nodeHash(hash, left, right)),
  );
}

/** Whether the path proves that the tree contains the leaf at this index. */
export function provesInclusion(
  hash: Hash,
  { root, ...inclusion }: Inclusion & { readonly root: Uint8Array },
): boolean {
  const folded = foldPath(hash, inclusion);
  return folded !== undefined && isEqual(folded, root);
}

interface ConsistencyClaim {
  readonly oldSize: number;
  readonly oldRoot: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** Whether the path proves that the tree begins with the old tree. Every tree begins with the empty one. */
export function provesConsistency(hash: Hash, { oldSize, oldRoot, size, root, path }: ConsistencyClaim): boolean {
  if (![oldSize, size].every((count) => Number.isSafeInteger(count) && count >= 0) || oldSize > size) return false;
  if (oldSize === 0) return path.length === 0;
  if (oldSize === size) return path.length === 0 && isEqual(oldRoot, root);
  // A power of two is a node of the new tree: its hash is the old root, which the proof leaves out.
  const [first, ...rest] = isPowerOfTwo(oldSize) ? [oldRoot, ...path] : path;
  if (first === undefined) return false;
  let [at, last] = [oldSize - 1, size - 1];
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  let [oldNode, node] = [first, first];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [oldNode, node] = [nodeHash(hash, sibling, oldNode), nodeHash(hash, sibling, node)];
      // Skip the levels on which the right edge has no sibling.
      while (at % 2 === 0 && at > 0) [at, last] = [half(at), half(last)];
    } else {
      node = nodeHash(hash, node, sibling);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && isEqual(oldNode, oldRoot) && isEqual(node, root);
}

/** The full nodes that cover a range of a tree, largest first. `start` is a multiple of the largest of them. */
function fullNodes(start: number, end: number): Range {
  const nodes: TreeNode[] = [];
  for (let at = start; at < end; ) {
    let level = 0;
    while (2 ** (level + 1) <= end - at) level += 1;
    nodes.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/** Where a node is in its tile: over `count` hashes from `start` on. */
function positionOf({ level, index }: TreeNode): TilePosition {
  const count = 2 ** (level % TILE_HEIGHT);
  const first = index * count;
  return {
    level: Math.floor(level / TILE_HEIGHT),
    index: Math.floor(first / TILE_WIDTH),
    start: first % TILE_WIDTH,
    count,
  };
}

interface TilePosition {
  readonly level: number;
  readonly index: number;
  readonly start: number;
  readonly count: number;
}

function tileOf(node: TreeNode): string {
  const { level, index } = positionOf(node);
  return `${level}/${index}`;
}

/** The largest power of two below `count` (RFC 6962 §2.1). */
function split(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count));
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
