/**
 * Tiles of a log's tree (C2SP tlog-tiles). A tile of level L holds up to 256 consecutive hashes, each over 256^L leaves.
 * An entry bundle holds the leaves themselves.
 */

import { HASH_BYTES, type Hash, half, nodeHash } from '../ledger/merkle-tree.ts';

/** The hashes in a full tile. */
export const TILE_WIDTH = 256;
/** Levels of the binary tree in a tile: a tile has 2^8 hashes. */
export const TILE_HEIGHT = 8;
const MAX_LEVEL = 63;

export interface Tile {
  /** 0 for hashes of leaves. */
  readonly level: number;
  readonly index: number;
  /** 1 to 256. */
  readonly width: number;
}

/** A path names a tile, or the bundle of the entries that a tile of level 0 hashes. */
export interface TilePath extends Tile {
  readonly isEntries: boolean;
}

/** Number.MAX_SAFE_INTEGER has 16 digits: five elements and a first one. */
const PATH = /^(entries|\d|[1-9]\d)\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** Reads what follows `tile/`; `undefined` if it is not the path of a tile. */
export function parseTilePath(path: string): TilePath | undefined {
  const [, level = '', elements = '', width] = PATH.exec(path) ?? [];
  const tile = {
    isEntries: level === 'entries',
    level: level === 'entries' ? 0 : Number(level),
    index: Number(elements.replace(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
  const isTile =
    level !== '' &&
    tile.level <= MAX_LEVEL &&
    Number.isSafeInteger(tile.index) &&
    (width === undefined || tile.width < TILE_WIDTH);
  // A second spelling of the same index, such as `x000/001`, is not a path.
  return isTile && formatTilePath(tile) === path ? tile : undefined;
}

export function formatTilePath({ level, index, width, isEntries }: TilePath): string {
  const groups =
    String(index)
      .padStart(3 * Math.ceil(String(index).length / 3), '0')
      .match(/\d{3}/g) ?? [];
  const elements = groups.map((group, at) => (at === groups.length - 1 ? group : `x${group}`)).join('/');
  return `${isEntries ? 'entries' : level}/${elements}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

/** How many hashes the tile of a level and index has in a tree of this size: 0 to 256. */
export function tileWidth(size: number, level: number, index: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** level);
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH));
}

/** The root of a full tile: one hash of the level above. */
export function tileRoot(hash: Hash, tile: Uint8Array): Uint8Array {
  return subtreeRoot(hash, tile, 0, TILE_WIDTH);
}

/** The root over `count` hashes of a tile from `start` on. `count` is a power of two. */
export function subtreeRoot(hash: Hash, tile: Uint8Array, start: number, count: number): Uint8Array {
  if (count === 1) return tile.subarray(start * HASH_BYTES, (start + 1) * HASH_BYTES);
  const middle = half(count);
  return nodeHash(hash, subtreeRoot(hash, tile, start, middle), subtreeRoot(hash, tile, start + middle, middle));
}

/** The length of an entry is a uint16. */
const LENGTH_BYTES = 2;

/** @throws RangeError for an entry of more than 65,535 bytes */
export function encodeEntries(entries: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    entries.flatMap((entry) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );
}
