import { expect } from 'chai';
import fc from 'fast-check';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import {
  edgeTiles,
  type GrowingTree,
  growingTree,
  grown,
  rootOf,
  type StoredTile,
} from '../../../domain/log/growing-tree.ts';
import { encodeEntries, formatTilePath, parseTilePath, tileWidth } from '../../../domain/log/tiles.ts';
import {
  planConsistency,
  planInclusion,
  provesConsistency,
  provesInclusion,
  readProof,
  tilesOf,
} from '../../../domain/log/tree-proofs.ts';
import { consistencyProof, treeHash, treePath } from '../../support/independent-ledger/tree-recursion.ts';
import { byLength } from '../../support/length.ts';
import { hashLeaf } from '../../support/transparency-log.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const EMPTY: GrowingTree = { size: 0, edge: [] };
const leavesOf = (size: number) => Array.from({ length: size }, (_, nth) => hashLeaf(Buffer.from(`leaf ${nth}`)));

/** The stored tiles of a log that grew in steps to these sizes. */
function stored(leaves: readonly Uint8Array[], sizes: readonly number[]) {
  const tiles = new Map<string, StoredTile>();
  let tree = EMPTY;
  for (const size of sizes) {
    const next = grown(sha256Bytes, tree, leaves.slice(tree.size, size));
    for (const tile of next.tiles) tiles.set(`${tile.level}/${tile.index}`, tile);
    tree = next.tree;
  }
  const read = (level: number, index: number) => tiles.get(`${level}/${index}`)?.hashes ?? new Uint8Array();
  return { tree, tiles, read };
}

describe('The paths of tiles', () => {
  const paths: readonly (readonly [string, boolean, number, number, number])[] = [
    ['0/000', false, 0, 0, 256],
    ['0/255.p/1', false, 0, 255, 1],
    ['63/x001/x234/067', false, 63, 1_234_067, 256],
    ['entries/x001/x234/067.p/255', true, 0, 1_234_067, 255],
    ['10/x009/x007/x199/x254/x740/991', false, 10, Number.MAX_SAFE_INTEGER, 256],
  ];
  for (const [path, isEntries, level, index, width] of paths) {
    it(`have the form of C2SP tlog-tiles: ${path}`, () => {
      expect(parseTilePath(path)).to.deep.equal({ isEntries, level, index, width });
      expect(formatTilePath({ isEntries, level, index, width })).to.equal(path);
    });
  }

  for (const path of [
    ...['', '0', '0/', '0/0', '0/00', '0/0000', '0/x000', '0/x000/000', '0/x000/001', '0/001/002', '64/000', '00/000'],
    ...['-1/000', '0/000.p', '0/000.p/', '0/000.p/0', '0/000.p/01', '0/000.p/256', '0/000.p/257', '0/000.p/1000'],
    ...['0/x009/x007/x199/x254/x740/992', '0/000/', '/0/000', '0/000.p/1/', 'entries/entries/000', '0/000%00', '0/٠٠٠'],
  ]) {
    it(`are refused: ${JSON.stringify(path)}`, () => expect(parseTilePath(path)).to.equal(undefined));
  }
});

describe('The tiles of a tree', () => {
  it('have the widths of the example of C2SP: a tree of 70,000 leaves', () => {
    const widths = (level: number, index: number) => tileWidth(70_000, level, index);
    expect([widths(0, 272), widths(0, 273), widths(0, 274)]).to.deep.equal([256, 112, 0]);
    expect([widths(1, 0), widths(1, 1), widths(1, 2)]).to.deep.equal([256, 17, 0]);
    expect([widths(2, 0), widths(2, 1), widths(3, 0)]).to.deep.equal([1, 0, 0]);
    expect(edgeTiles(256)).to.deep.equal([{ level: 1, index: 0, width: 1 }]);
  });

  it('and its root are those of RFC 6962, in whatever steps it grew', () => {
    const steps = fc.array(fc.nat({ max: 700 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(steps, (sizes) => {
        const sorted = sizes.toSorted((one, other) => one - other);
        const size = sorted.at(-1) ?? 0;
        const leaves = leavesOf(size);
        const { tree, tiles } = stored(leaves, sorted);
        expect(hex(rootOf(sha256Bytes, tree))).to.equal(hex(treeHash(leaves)));
        for (const { level, index, hashes } of tiles.values()) {
          const span = 256 ** level;
          expect(hashes.length / 32).to.equal(tileWidth(size, level, index));
          for (let at = 0; at < hashes.length / 32; at += 1) {
            const from = (index * 256 + at) * span;
            expect(hex(hashes.subarray(at * 32, at * 32 + 32))).to.equal(
              hex(treeHash(leaves.slice(from, from + span))),
            );
          }
        }
        const edge = edgeTiles(size).map(({ level, index }) => tiles.get(`${level}/${index}`));
        const read = growingTree(size, edge);
        expect(read && hex(rootOf(sha256Bytes, read))).to.equal(hex(treeHash(leaves)));
      }),
      { numRuns: byLength({ short: 20, full: 200 }) },
    );
  });

  it('are refused as the edge of a tree if one is missing or too short', () => {
    const { tiles } = stored(leavesOf(300), [300]);
    const edge = edgeTiles(300).map(({ level, index }) => tiles.get(`${level}/${index}`));
    expect(growingTree(300, edge)).to.not.equal(undefined);
    expect(growingTree(300, edge.slice(0, 1))).to.equal(undefined);
    expect(growingTree(301, edge)).to.equal(undefined);
  });
});

describe('Proofs from tiles', () => {
  const SIZE = byLength({ short: 530, full: 1100 });
  const leaves = leavesOf(SIZE);
  const { read } = stored(leaves, [1, 2, 300, SIZE]);
  const someSizes = fc.integer({ min: 1, max: SIZE });

  it('of inclusion are the paths of RFC 6962, and fail with any other leaf, index, size or hash', () => {
    fc.assert(
      fc.property(someSizes, fc.nat(), (size, some) => {
        const index = some % size;
        const plan = planInclusion(index, size);
        const path = readProof(sha256Bytes, plan, read);
        expect(path.map(hex)).to.deep.equal(treePath(index, leaves.slice(0, size)).map(hex));
        const root = treeHash(leaves.slice(0, size));
        const claim = { leaf: leaves[index] ?? new Uint8Array(), index, size, root, path };
        const proves = (changes: Partial<typeof claim>) => provesInclusion(sha256Bytes, { ...claim, ...changes });
        expect(proves({})).to.equal(true);
        expect(proves({ leaf: hashLeaf(Buffer.from('another')) })).to.equal(false);
        expect(proves({ root: hashLeaf(Buffer.from('another')) })).to.equal(false);
        expect(proves({ path: [...path, root] })).to.equal(false);
        expect(proves({ index: size })).to.equal(false);
        for (const [at, node] of path.entries()) {
          expect(proves({ path: path.toSpliced(at, 1) })).to.equal(false);
          expect(
            proves({
              path: path.with(
                at,
                Uint8Array.from(node, (byte, nth) => byte ^ Number(nth === 31)),
              ),
            }),
          ).to.equal(false);
        }
        expect(tilesOf(plan).length).to.be.at.most(2 * Math.ceil(Math.log2(SIZE) / 8) + 1);
      }),
      { numRuns: byLength({ short: 60, full: 600 }) },
    );
  });

  it('of consistency are the proofs of RFC 6962, and fail with any other root or hash', () => {
    fc.assert(
      fc.property(someSizes, fc.nat(), (size, some) => {
        const oldSize = some % (size + 1);
        const path = readProof(sha256Bytes, planConsistency(oldSize, size), read);
        expect(path.map(hex)).to.deep.equal(consistencyProof(oldSize, leaves.slice(0, size)).map(hex));
        const [oldRoot, root] = [treeHash(leaves.slice(0, oldSize)), treeHash(leaves.slice(0, size))];
        const claim = { oldSize, oldRoot, size, root, path };
        const proves = (changes: Partial<typeof claim>) => provesConsistency(sha256Bytes, { ...claim, ...changes });
        expect(proves({})).to.equal(true);
        expect(proves({ path: [...path, root] })).to.equal(false);
        expect(proves({ oldSize: size + 1 })).to.equal(false);
        // Every tree begins with the empty one.
        if (oldSize === 0) return;
        const another = hashLeaf(Buffer.from('another'));
        expect(proves({ oldRoot: another })).to.equal(false);
        expect(proves({ root: another })).to.equal(false);
        for (const [at, node] of path.entries()) {
          expect(proves({ path: path.toSpliced(at, 1) })).to.equal(false);
          expect(
            proves({
              path: path.with(
                at,
                Uint8Array.from(node, (byte, nth) => byte ^ Number(nth === 0)),
              ),
            }),
          ).to.equal(false);
        }
      }),
      { numRuns: byLength({ short: 60, full: 600 }) },
    );
  });
});

describe('Entry bundles', () => {
  it('hold each entry after its length in two bytes', () => {
    const bundle = encodeEntries([Buffer.from('ab'), Buffer.alloc(0), Buffer.alloc(258, 1)]);
    expect(hex(bundle)).to.equal(`0002616200000102${'01'.repeat(258)}`);
  });

  it('hold no entry of more than 65,535 bytes', () => {
    expect(() => encodeEntries([Buffer.alloc(65_536)])).to.throw(RangeError);
  });
});
