import { expect } from 'chai';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { logComparison } from '../../../application/log/compare-log.ts';
import { type Checkpoint, toHex } from '../../../domain/ledger/checkpoint.ts';
import { entryHash } from '../../../domain/ledger/merkle-tree.ts';
import { grown, rootOf, type StoredTile } from '../../../domain/log/growing-tree.ts';
import { logEntry } from '../../../domain/log/log-entry.ts';
import { NOON } from '../../support/domain-fixtures.ts';

/** Three tiles of leaves, of which the last is not full. */
const SIZE = 600;
const SMALLER = 513;

const checkpoints: readonly Checkpoint[] = Array.from({ length: SIZE }, (_, at) => ({
  checkpointId: at + 1,
  firstSeq: at + 1,
  lastSeq: at + 1,
  treeSize: 1,
  rootHash: 'ab',
  prevCheckpointHash: undefined,
  closedAt: NOON,
  kid: 'a',
  signature: 'cd',
}));
const leaves = checkpoints.map((checkpoint) => entryHash(sha256Bytes, logEntry(checkpoint)));
const treeOf = (size: number) => grown(sha256Bytes, { size: 0, edge: [] }, leaves.slice(0, size));
const rootAt = (size: number) => rootOf(sha256Bytes, treeOf(size).tree);

async function faultOf(size: number, tiles: readonly StoredTile[]) {
  const state = { origin: 'log.test', size, root: toHex(rootAt(size)), isWithheld: false };
  const follower = logComparison({
    hash: sha256Bytes,
    log: { tiles: async (places) => places.map((at) => tiles.find((tile) => isAt(tile, at.level, at.index))) },
    state: { ...state, note: undefined, published: undefined, halted: undefined },
    note: { size: 300, root: rootAt(300) },
  });
  for (const checkpoint of checkpoints) {
    const fault = await follower.next(checkpoint);
    if (fault !== undefined) return fault;
  }
  return follower.end(SIZE);
}

const isAt = (tile: StoredTile, level: number, index: number) => tile.level === level && tile.index === index;

describe('Comparing a ledger with its log', () => {
  const stored = treeOf(SIZE).tiles;

  it('finds no fault in several tiles, also if the log grew after its state was read', async () => {
    expect(await faultOf(SIZE, stored)).to.equal(undefined);
    expect(await faultOf(SMALLER, stored)).to.equal(undefined);
  });

  it('names the first checkpoint of which the log has another leaf', async () => {
    const changed = stored.map((tile) => (isAt(tile, 0, 2) ? { ...tile, hashes: tile.hashes.toReversed() } : tile));
    expect(await faultOf(SIZE, changed)).to.deep.equal({ kind: 'log_leaf', checkpointId: 513 });
  });

  it('names a tile above the leaves that was changed, cut off or removed', async () => {
    const upper = stored.find((tile) => isAt(tile, 1, 0));
    if (upper === undefined) throw new Error('no upper tile');
    const others = stored.filter((tile) => tile !== upper);
    for (const tile of [
      { ...upper, hashes: upper.hashes.toReversed() },
      { ...upper, hashes: upper.hashes.slice(33) },
    ]) {
      expect(await faultOf(SIZE, [...others, tile])).to.deep.equal({ kind: 'log_tile', level: 1, index: 0 });
    }
    expect(await faultOf(SIZE, others)).to.deep.equal({ kind: 'log_tile', level: 1, index: 0 });
  });
});
