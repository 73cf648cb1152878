import { expect } from 'chai';
import { canonicalRecordForm, leafOf } from './canonical-form.ts';
import { rootOfPath, treeHash, treePath } from './tree-recursion.ts';
import { canonicalRecords, merkleTrees, publishedLedger } from './vectors.ts';
import { faultsOfLedger, isProven, signedHash } from './verify-published.ts';

const { jwk, records, checkpoints } = publishedLedger;
const jwks = { keys: [jwk] };
const published = checkpoints.map(({ signed_bytes, ...checkpoint }) => checkpoint);

/** The tests judge the service by this verifier, so it has to be right by itself, on what others published. */
describe('the independent verifier', () => {
  for (const { about, record, canonical_json, leaf } of canonicalRecords) {
    it(`writes the canonical form and the leaf of ${about}`, () => {
      expect(canonicalRecordForm(record)).to.equal(canonical_json);
      expect(leafOf(record).toString('hex')).to.equal(leaf);
    });
  }

  it('builds every tree and path that was published', () => {
    for (const { tree_size, root_hash, proofs } of merkleTrees.trees) {
      const all = merkleTrees.trees.flatMap((tree) => tree.proofs);
      const leaves = Array.from({ length: tree_size }, (_, index) =>
        Buffer.from(all.find((proof) => proof.leaf_index === index)?.leaf ?? '', 'hex'),
      );
      for (const { leaf, leaf_index, audit_path } of proofs) {
        const path = audit_path.map((node) => Buffer.from(node, 'hex'));
        const root = rootOfPath(Buffer.from(leaf, 'hex'), leaf_index, tree_size, path);
        expect(Buffer.from(root ?? []).toString('hex')).to.equal(root_hash);
      }
      // Of the larger trees not every leaf was published.
      if (proofs.length < tree_size) continue;
      expect(Buffer.from(treeHash(leaves)).toString('hex')).to.equal(root_hash);
      for (const { leaf_index, audit_path } of proofs) {
        const path = treePath(leaf_index, leaves).map((node) => Buffer.from(node).toString('hex'));
        expect(path).to.deep.equal(audit_path);
      }
    }
  });

  it('finds nothing wrong with the ledger that was published', () => {
    expect(faultsOfLedger(records, published, jwks)).to.deep.equal([]);
  });

  it('finds every member of every record and checkpoint that is altered', () => {
    for (const [index, record] of records.entries()) {
      for (const name of Object.keys(record)) {
        // A number is no part of what a record means; moved past its neighbour, it changes the order.
        const value = name === 'seq' ? 100 + Number(record.seq) : typeof record[name] === 'number' ? 77 : 'altered';
        const altered = records.with(index, { ...record, [name]: value });
        expect(faultsOfLedger(altered, published, jwks), name).to.not.deep.equal([]);
      }
    }
    for (const [index, checkpoint] of published.entries()) {
      for (const name of Object.keys(checkpoint)) {
        const value = typeof checkpoint[name] === 'number' ? 77 : 'ab'.repeat(64);
        const altered = published.with(index, { ...checkpoint, [name]: value });
        expect(faultsOfLedger(records, altered, jwks), name).to.not.deep.equal([]);
      }
    }
  });

  it('takes a proof only for its own record, at its own place, from a key that it knows', () => {
    const checkpoint = published[0] ?? {};
    const sealed = records.filter((record) => record.checkpoint === 1);
    const leaves = sealed.map(leafOf);
    for (const [index, record] of sealed.entries()) {
      const audit_path = treePath(index, leaves).map((node) => Buffer.from(node).toString('hex'));
      const proof = { seq: record.seq, checkpoint, leaf_index: index, audit_path };
      expect(isProven(record, proof, jwks)).to.equal(true);
      expect(isProven({ ...record, reason: 'altered' }, proof, jwks)).to.equal(false);
      expect(isProven(record, { ...proof, leaf_index: (index + 1) % sealed.length }, jwks)).to.equal(false);
      expect(isProven(record, { ...proof, audit_path: audit_path.slice(1) }, jwks)).to.equal(false);
      expect(isProven(record, proof, { keys: [] })).to.equal(false);
    }
  });

  it('links by the hash of what was signed', () => {
    expect(published.slice(0, -1).map(signedHash)).to.deep.equal(
      published.slice(1).map((checkpoint) => checkpoint.prev_checkpoint_hash),
    );
  });
});
