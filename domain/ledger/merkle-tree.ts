/**
 * The Merkle tree over a checkpoint's records (specification "Ledger and seal"; RFC 6962 §2.1). Each leaf is a record;
 * a tree of n leaves splits at the largest power of two below n. Nodes and leaves are 32 bytes.
 */

/** SHA-256. */
export type Hash = (bytes: Uint8Array) => Uint8Array;

export const HASH_BYTES = 32;

/** The first hashed byte differs, so that a leaf cannot be mistaken for an inner node. */
const LEAF = 0x00;
const NODE = 0x01;

/** @param canonical a record's canonical JSON, which is ASCII */
export function leafHash(hash: Hash, canonical: string): Uint8Array {
  const bytes = Buffer.allocUnsafe(1 + canonical.length);
  bytes[0] = LEAF;
  bytes.write(canonical, 1, 'latin1');
  return hash(bytes);
}

export function entryHash(hash: Hash, entry: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(1 + entry.length);
  bytes[0] = LEAF;
  bytes.set(entry, 1);
  return hash(bytes);
}

export function nodeHash(hash: Hash, left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(1 + left.length + right.length);
  bytes[0] = NODE;
  bytes.set(left, 1);
  bytes.set(right, 1 + left.length);
  return hash(bytes);
}

/** Computes a root incrementally. It keeps at most one node for each binary digit of its size. */
interface TreeBuilder {
  add(leaf: Uint8Array): void;
  readonly size: number;
  /** The root of the leaves so far; the hash of the empty string if there are none. */
  root(): Uint8Array;
}

export function treeBuilder(hash: Hash): TreeBuilder {
  // The roots of the full subtrees, largest first (from left to right).
  const subtrees: Uint8Array[] = [];
  let size = 0;
  return {
    add(leaf) {
      let node = leaf;
      // The number of trailing one bits in a leaf's index is the number of subtrees it completes.
      for (let index = size; index % 2 === 1; index = half(index)) {
        const left = subtrees.pop();
        if (left !== undefined) node = nodeHash(hash, left, node);
      }
      subtrees.push(node);
      size += 1;
    },
    get size() {
      return size;
    },
    root() {
      const smallest = subtrees.at(-1) ?? hash(new Uint8Array());
      return subtrees.slice(0, -1).reduceRight((right, left) => nodeHash(hash, left, right), smallest);
    },
  };
}

/** A tree that keeps the nodes of its full subtrees, so that an audit path takes only a few hashes. */
export interface MerkleTree extends TreeBuilder {
  /** From the leaf's sibling up to the root's child (RFC 6962 §2.1.1). @throws RangeError for an index outside */
  path(index: number): readonly Uint8Array[];
}

/** @param capacity the maximum number of leaves: 64 bytes for each are allocated at once */
export function merkleTree(hash: Hash, capacity: number): MerkleTree {
  const levels = emptyLevels(capacity);
  let size = 0;

  /** The node over up to `2 ** level` leaves, from leaf `index * 2 ** level` on; fewer at the right edge. */
  function node(level: number, index: number): Uint8Array {
    const full = (index + 1) * 2 ** level <= size;
    if (full) return nodeAt(levels, level, index);
    // At the right edge a node without a right child is its left child: only two children are hashed.
    const hasRight = (2 * index + 1) * 2 ** (level - 1) < size;
    const left = node(level - 1, 2 * index);
    return hasRight ? nodeHash(hash, left, node(level - 1, 2 * index + 1)) : left;
  }

  return {
    add(leaf) {
      if (size === capacity) throw new RangeError('The tree is full.');
      levels[0]?.set(leaf, size * HASH_BYTES);
      size += 1;
      let count = size;
      for (let level = 1; count % 2 === 0; level += 1) {
        count = half(count);
        const left = nodeAt(levels, level - 1, 2 * count - 2);
        const right = nodeAt(levels, level - 1, 2 * count - 1);
        levels[level]?.set(nodeHash(hash, left, right), (count - 1) * HASH_BYTES);
      }
    },
    get size() {
      return size;
    },
    root: () => (size === 0 ? hash(new Uint8Array()) : node(height(size), 0)),
    path(index) {
      if (!isIndex(index, size)) throw new RangeError('The tree has no such leaf.');
      const path: Uint8Array[] = [];
      for (let level = 0, at = index; level < height(size); level += 1, at = half(at)) {
        const sibling = at % 2 === 0 ? at + 1 : at - 1;
        if (sibling * 2 ** level < size) path.push(node(level, sibling));
      }
      return path;
    },
  };
}

/** A leaf, its claimed position, and its audit path. */
export interface Inclusion {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly path: readonly Uint8Array[];
}

/** The root that the path leads to (RFC 9162 §2.1.3.2); `undefined` if no tree of this size has such a path. */
export function foldPath(hash: Hash, { leaf, index, size, path }: Inclusion): Uint8Array | undefined {
  if (!isIndex(index, size) || [leaf, ...path].some((node) => node.length !== HASH_BYTES)) return undefined;
  let node = leaf;
  let at = index;
  let last = size - 1;
  for (const sibling of path) {
    if (last === 0) return undefined;
    if (at % 2 === 1 || at === last) {
      node = nodeHash(hash, sibling, node);
      // Skip the levels on which the right edge has no sibling.
      while (at % 2 === 0 && at > 0) {
        at = half(at);
        last = half(last);
      }
    } else {
      node = nodeHash(hash, node, sibling);
    }
    at = half(at);
    last = half(last);
  }
  return last === 0 ? node : undefined;
}

/** One buffer per level of full nodes, leaves first: as single objects they would take five times the memory. */
function emptyLevels(capacity: number): readonly Uint8Array[] {
  const levels: Uint8Array[] = [];
  for (let count = capacity; count > 0; count = half(count)) levels.push(new Uint8Array(count * HASH_BYTES));
  return levels;
}

function nodeAt(levels: readonly Uint8Array[], level: number, index: number): Uint8Array {
  const nodes = levels[level] ?? new Uint8Array();
  return nodes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
}

/** Levels above the leaves. */
function height(size: number): number {
  let levels = 0;
  while (2 ** levels < size) levels += 1;
  return levels;
}

/** Divides instead of shifting: JavaScript shifts are limited to 32 bits. */
export function half(count: number): number {
  return Math.floor(count / 2);
}

function isIndex(index: number, size: number): boolean {
  return Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size;
}
