import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { foldPath, type Hash, leafHash, merkleTree, treeBuilder } from '../../../domain/ledger/merkle-tree.ts';
import { treeHash, treePath } from '../../support/independent-ledger/tree-recursion.ts';
import { canonicalRecords, merkleTrees } from '../../support/independent-ledger/vectors.ts';
import { byLength } from '../../support/length.ts';
import { describeVectors } from '../../support/public-vectors.ts';

const hash: Hash = (bytes) => createHash('sha256').update(bytes).digest();
const hex = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString('hex'));
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));
const leavesOf = (size: number) => Array.from({ length: size }, (_, index) => leafHash(hash, `leaf-${index}`));

/** The largest tree of the slow tests: the recursion of RFC 6962 hashes every leaf again for each size. */
const LARGEST = byLength({ short: 260, full: 1100 });

function grown(leaves: readonly Uint8Array[]) {
  const tree = merkleTree(hash, leaves.length);
  for (const leaf of leaves) tree.add(leaf);
  return tree;
}

describe('the Merkle tree', () => {
  it('hashes a record into the leaf of the published vector', () => {
    for (const { canonical_json, leaf } of canonicalRecords) {
      expect(hex(leafHash(hash, canonical_json))).to.equal(leaf);
    }
  });

  it('has the roots and audit paths of the published vectors', () => {
    for (const { tree_size, root_hash, proofs } of merkleTrees.trees) {
      const tree = grown(leavesOf(tree_size));
      expect(hex(tree.root())).to.equal(root_hash);
      for (const { leaf_index, leaf, audit_path } of proofs) {
        expect(tree.path(leaf_index).map(hex)).to.deep.equal(audit_path);
        const inclusion = { leaf: bytes(leaf), index: leaf_index, size: tree_size, path: audit_path.map(bytes) };
        expect(hex(foldPath(hash, inclusion))).to.equal(root_hash);
      }
    }
  });

  it('has the roots of Certificate Transparency’s test inputs', () => {
    const { inputs_hex, roots_by_size } = merkleTrees.certificate_transparency;
    const builder = treeBuilder(hash);
    for (const [index, input] of inputs_hex.entries()) {
      builder.add(leafHash(hash, Buffer.from(input, 'hex').toString('latin1')));
      expect(hex(builder.root())).to.equal(roots_by_size[index]);
    }
  });

  it(`has the root that RFC 6962 defines at every size up to ${LARGEST}, both as a builder and as a tree`, function () {
    this.timeout(120_000);
    const leaves = leavesOf(LARGEST);
    const builder = treeBuilder(hash);
    const tree = merkleTree(hash, LARGEST);
    expect(hex(builder.root())).to.equal(hex(treeHash([])));
    expect(hex(tree.root())).to.equal(hex(treeHash([])));
    for (const [index, leaf] of leaves.entries()) {
      builder.add(leaf);
      tree.add(leaf);
      const root = hex(treeHash(leaves.slice(0, index + 1)));
      expect(hex(builder.root()), `streamed, ${index + 1} leaves`).to.equal(root);
      expect(hex(tree.root()), `kept, ${index + 1} leaves`).to.equal(root);
    }
    expect([builder.size, tree.size]).to.deep.equal([LARGEST, LARGEST]);
  });

  it(`proves every leaf of every tree up to 130 leaves, and sampled leaves up to ${LARGEST}`, function () {
    this.timeout(120_000);
    const leaves = leavesOf(LARGEST);
    const tree = merkleTree(hash, LARGEST);
    for (const [last, leaf] of leaves.entries()) {
      tree.add(leaf);
      const size = last + 1;
      const root = tree.root();
      const every = Array.from({ length: size }, (_, index) => index);
      const indexes = size <= 130 ? every : every.filter((index) => index % 97 === size % 97 || index >= last - 1);
      for (const index of indexes) {
        const inclusion = { leaf: leaves[index] ?? leaf, index, size, path: tree.path(index) };
        expect(hex(foldPath(hash, inclusion)), `leaf ${index} of ${size}`).to.equal(hex(root));
      }
    }
  });

  it('has the audit paths that RFC 6962 defines', () => {
    const leaves = leavesOf(300);
    const size = fc.integer({ min: 1, max: 300 });
    fc.assert(
      fc.property(size, fc.nat(), (n, at) => {
        const [some, index] = [leaves.slice(0, n), at % n];
        expect(grown(some).path(index).map(hex)).to.deep.equal(treePath(index, some).map(hex));
      }),
    );
  });

  it('refuses a leaf beyond its capacity, and the path of a leaf that it does not have', () => {
    const tree = grown(leavesOf(3));
    expect(() => tree.add(leafHash(hash, 'leaf-3'))).to.throw(RangeError);
    for (const index of [-1, 3, 0.5, Number.NaN]) expect(() => tree.path(index)).to.throw(RangeError);
  });
});

describe('folding an audit path', () => {
  /** Sizes around powers of two, and some between them. */
  const sizes = [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 100, 1025, LARGEST];

  for (const size of sizes) {
    it(`of ${size} leaves fails for a flipped bit, a wrong index, and a missing or extra node`, () => {
      const leaves = leavesOf(size);
      const tree = grown(leaves);
      const root = hex(tree.root());
      const folds = (inclusion: Parameters<typeof foldPath>[1]) => hex(foldPath(hash, inclusion)) === root;
      for (const index of new Set([0, 1, size >> 1, size - 2, size - 1].filter((at) => at >= 0 && at < size))) {
        const path = tree.path(index);
        const inclusion = { leaf: leaves[index] ?? new Uint8Array(), index, size, path };
        expect(folds(inclusion)).to.equal(true);
        for (const other of [index - 1, index + 1, index ^ 1, index ^ 2, -1, size, 2 ** 53, index + 0.5]) {
          expect(folds({ ...inclusion, index: other }), `index ${other}`).to.equal(other === index);
        }
        for (let node = 0; node <= path.length; node += 1) {
          if (node < path.length)
            expect(foldPath(hash, { ...inclusion, path: path.toSpliced(node, 1) })).to.equal(undefined);
          for (const extra of [new Uint8Array(32), path[node] ?? tree.root(), tree.root(), inclusion.leaf]) {
            expect(foldPath(hash, { ...inclusion, path: path.toSpliced(node, 0, extra) })).to.equal(undefined);
          }
        }
        for (let bit = 0; bit < 256; bit += 1) {
          expect(folds({ ...inclusion, leaf: flipped(inclusion.leaf, bit) })).to.equal(false);
          for (const [at, node] of path.entries()) {
            // Every bit of one node, and one bit of every node.
            if (bit % path.length !== at && bit % 32 !== 7) continue;
            expect(folds({ ...inclusion, path: path.with(at, flipped(node, bit)) })).to.equal(false);
          }
        }
      }
    });
  }

  it('fails for a leaf or a node of another length than a hash', () => {
    const tree = grown(leavesOf(2));
    const inclusion = { leaf: leafHash(hash, 'leaf-0'), index: 0, size: 2, path: tree.path(0) };
    expect(hex(foldPath(hash, inclusion))).to.equal(hex(tree.root()));
    for (const bytes of [new Uint8Array(), new Uint8Array(31), new Uint8Array(33)]) {
      expect(foldPath(hash, { ...inclusion, leaf: bytes })).to.equal(undefined);
      expect(foldPath(hash, { ...inclusion, path: [bytes] })).to.equal(undefined);
    }
  });

  it('fails for a path whose length does not fit the size', () => {
    const tree = grown(leavesOf(9));
    const inclusion = { leaf: leafHash(hash, 'leaf-8'), index: 8, size: 9, path: tree.path(8) };
    expect(hex(foldPath(hash, inclusion))).to.equal(hex(tree.root()));
    for (const size of [0, -1, 8, 10, 16, 17, 2 ** 53, 9.5]) {
      expect(hex(foldPath(hash, { ...inclusion, size })), `size ${size}`).to.not.equal(hex(tree.root()));
    }
  });
});

interface Probe {
  readonly name: string;
  readonly leafIdx: number;
  readonly treeSize: number;
  readonly root: string;
  readonly leafHash: string;
  readonly proof: readonly string[] | null;
  readonly wantErr: boolean;
}

describeVectors<readonly Probe[]>(
  'checking the public inclusion proofs of RFC 6962',
  'rfc6962_inclusion_probes.json',
  (probes) => {
    for (const { name, leafIdx, treeSize, root, leafHash: leaf, proof, wantErr } of probes) {
      it(`${wantErr ? 'refuses' : 'accepts'} ${name}`, () => {
        const path = (proof ?? []).map((node) => new Uint8Array(Buffer.from(node, 'base64')));
        const inclusion = { leaf: new Uint8Array(Buffer.from(leaf, 'base64')), index: leafIdx, size: treeSize, path };
        const folded = foldPath(hash, inclusion);
        const verified = folded !== undefined && Buffer.from(folded).toString('base64') === root;
        expect(verified).to.equal(!wantErr);
      });
    }
  },
);

function flipped(node: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(node);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
