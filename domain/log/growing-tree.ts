/** Appends leaves to a log's tree. Only the last tile of each level is needed: all others are full. */

import { HASH_BYTES, type Hash, treeBuilder } from '../ledger/merkle-tree.ts';
import { TILE_WIDTH, type Tile, tileRoot, tileWidth } from './tiles.ts';
import { planRoot, readProof } from './tree-proofs.ts';

export interface StoredTile {
  readonly level: number;
  readonly index: number;
  /** Up to 256 hashes. */
  readonly hashes: Uint8Array;
}

export interface GrowingTree {
  readonly size: number;
  /** The last tile of each level, from level 0 on; empty if all tiles of the level are full. */
  readonly edge: readonly Uint8Array[];
}

/** The last tile of each level, if it is not full. */
export function edgeTiles(size: number): readonly Tile[] {
  const tiles: Tile[] = [];
  for (let level = 0, hashes = size; hashes > 0; level += 1, hashes = Math.floor(hashes / TILE_WIDTH)) {
    const index = Math.floor(hashes / TILE_WIDTH);
    const width = tileWidth(size, level, index);
    if (width > 0) tiles.push({ level, index, width });
  }
  return tiles;
}

/** A tree of this size. @param stored its `edgeTiles`, which may be wider. `undefined` if one is missing or too short */
export function growingTree(size: number, stored: readonly (StoredTile | undefined)[]): GrowingTree | undefined {
  const edge: Uint8Array[] = [];
  for (const [at, { level, width }] of edgeTiles(size).entries()) {
    const hashes = stored[at]?.hashes.subarray(0, width * HASH_BYTES);
    if (hashes?.length !== width * HASH_BYTES) return undefined;
    while (edge.length < level) edge.push(new Uint8Array());
    edge.push(hashes);
  }
  return { size, edge };
}

export function rootOf(hash: Hash, { size, edge }: GrowingTree): Uint8Array {
  if (size === 0) return treeBuilder(hash).root();
  const [root] = readProof(hash, planRoot(size), (level) => edge[level] ?? new Uint8Array());
  if (root === undefined) throw new Error('A tree without a root.');
  return root;
}

/** The tree with these leaves (hashes) after its own, and every tile that changed. */
export function grown(
  hash: Hash,
  tree: GrowingTree,
  leaves: readonly Uint8Array[],
): { readonly tree: GrowingTree; readonly tiles: readonly StoredTile[] } {
  const tiles: StoredTile[] = [];
  const edge: Uint8Array[] = [];
  let added = leaves;
  let before = tree.size;
  for (let level = 0; added.length > 0; level += 1, before = Math.floor(before / TILE_WIDTH)) {
    let index = Math.floor(before / TILE_WIDTH);
    let rest = Buffer.concat([tree.edge[level] ?? new Uint8Array(), ...added]);
    const full: Uint8Array[] = [];
    for (; rest.length >= TILE_WIDTH * HASH_BYTES; index += 1) {
      const hashes = rest.subarray(0, TILE_WIDTH * HASH_BYTES);
      tiles.push({ level, index, hashes });
      full.push(tileRoot(hash, hashes));
      rest = rest.subarray(TILE_WIDTH * HASH_BYTES);
    }
    if (rest.length > 0) tiles.push({ level, index, hashes: rest });
    edge.push(rest);
    added = full;
  }
  return { tree: { size: tree.size + leaves.length, edge: [...edge, ...tree.edge.slice(edge.length)] }, tiles };
}
