import { expect } from 'chai';
import { canonicalRecordForm, leafOf } from './canonical-form.ts';
import { rootOfPath, treeHash, treePath } from './tree-recursion.ts';
import { canonicalRecords, merkleTrees, publishedLedger } from './vectors.ts';
import { faultsOfLedger, isProven, signedHash } from './verify-published.ts';

const { jwk, records, checkpoints } = publishedLedger;
const jwks = { keys: [jwk] };
const published = checkpoints.map(({ signed_bytes, ...checkpoint }) => checkpoint);

/** Other tests use this verifier to check the service. Published vectors check the verifier. */
describe('The independent verifier', () => {
  for (const { about, record, canonical_json, leaf } of canonicalRecords) {
    it(`computes the canonical form and the leaf of ${about}`, () => {
      expect(canonicalRecordForm(record)).to.equal(canonical_json);
      expect(leafOf(record).toString('hex')).to.equal(leaf);
    });
  }

  it('computes every published tree and path', () => {
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
      // The larger trees have no published list of all leaves.
      if (proofs.length < tree_size) continue;
      expect(Buffer.from(treeHash(leaves)).toString('hex')).to.equal(root_hash);
      for (const { leaf_index, audit_path } of proofs) {
        const path = treePath(leaf_index, leaves).map((node) => Buffer.from(node).toString('hex'));
        expect(path).to.deep.equal(audit_path);
      }
    }
  });

  it('accepts the published ledger', () => {
    expect(faultsOfLedger(records, published, jwks)).to.deep.equal([]);
  });

  it('finds every altered member of every record and checkpoint', () => {
    for (const [index, record] of records.entries()) {
      for (const name of Object.keys(record)) {
        // The hash of a record does not include its number, so only a number out of order is noticed.
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

  it('accepts a proof only for its own record, at its own index, and with a published key', () => {
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

  it('links checkpoints by the hash of the signed bytes', () => {
    expect(published.slice(0, -1).map(signedHash)).to.deep.equal(
      published.slice(1).map((checkpoint) => checkpoint.prev_checkpoint_hash),
    );
  });
});
