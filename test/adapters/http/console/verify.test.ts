/**
 * The module that verifies in the auditor's browser: it agrees with the published vectors, and with `@mandate/audit` on
 * every alteration.
 */

import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { sha256Bytes } from '../../../../adapters/platform/system-crypto.ts';
import { createAuditor } from '../../../../adapters/sdk/audit/audit.ts';
import { canonicalRecord } from '../../../../domain/ledger/canonical-json.ts';
import { toHex } from '../../../../domain/ledger/checkpoint.ts';
import { leafHash, merkleTree } from '../../../../domain/ledger/merkle-tree.ts';
import { readRecord } from '../../../../domain/ledger/published.ts';
import { sealIn, verifyModule, verifyText } from '../../../support/console/verify-module.ts';
import { canonicalRecords, merkleTrees, publishedLedger } from '../../../support/independent-ledger/vectors.ts';
import { pageText } from '../../../support/log/evidence-page.ts';

const { readKeys, readMarks, verifyRecord, verifyCheckpoints, canonical, leafOf, rootOf } = verifyModule;

type Members = Readonly<Record<string, unknown>>;

/** Copies of the object: for each member one with another value, one with another type, and one without the member. */
function alterations(object: Members): readonly (readonly [string, Members])[] {
  return Object.entries(object).flatMap(([name, value]) => [
    [`${name} altered`, { ...object, [name]: altered(value) }] as const,
    [`${name} of another type`, { ...object, [name]: { value } }] as const,
    [`${name} left out`, Object.fromEntries(Object.entries(object).filter(([other]) => other !== name))] as const,
  ]);
}

function altered(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (Array.isArray(value)) return value.length === 0 ? ['0'.repeat(64)] : value.with(0, altered(value[0]));
  if (typeof value === 'object' && value !== null) return { ...value, closed_at: '2026-01-01T00:00:00.000Z' };
  if (typeof value !== 'string') return 'altered';
  if (value === 'allow') return 'deny';
  return value.replace(/[0-9a-z](?=[^0-9a-z]*$)/, (last) => (last === '1' ? '2' : '1'));
}

describe('The module that verifies in the browser', function () {
  this.timeout(30_000);
  const { jwk, records } = publishedLedger;
  const auditor = createAuditor({ keys: { keys: [jwk] } });
  const checkpoints: readonly Members[] = publishedLedger.checkpoints.map(
    ({ signed_bytes, ...checkpoint }) => checkpoint,
  );
  let keys: Awaited<ReturnType<typeof readKeys>>;
  before(async () => {
    keys = await readKeys(JSON.stringify({ keys: [jwk] }));
  });

  /** Each record of the ledger with its proof. */
  const proven = checkpoints.flatMap((checkpoint) => {
    const sealed = records.filter(
      ({ seq }) => Number(seq) >= Number(checkpoint.first_seq) && Number(seq) <= Number(checkpoint.last_seq),
    );
    const tree = merkleTree(sha256Bytes, sealed.length);
    for (const record of sealed) tree.add(leafHash(sha256Bytes, canonicalRecord(readRecord(record))));
    return sealed.map((record, index) => ({
      record: record as Members,
      proof: { seq: record.seq, checkpoint, leaf_index: index, audit_path: tree.path(index).map(toHex) } as Members,
    }));
  });

  /** The same verdict as that of the library, in the same words. */
  async function expectSame(one: Awaited<ReturnType<typeof verifyRecord>>, other: Members, what: string) {
    const said = ({ verified, fault, message, mark }: Members) =>
      verified ? { verified, mark } : { verified, fault, message: fault === 'unreadable' ? undefined : message };
    expect(said(one as unknown as Members), what).to.deep.equal(said(other));
  }

  it('has the lines of the seal that the page for evidence has', () => {
    expect(sealIn(verifyText)).to.be.a('string').and.equal(sealIn(pageText));
  });

  it('computes the published canonical JSON and leaf of each record', async () => {
    for (const { about, record, canonical_json, leaf } of canonicalRecords) {
      expect(canonical(record), about).to.equal(canonical_json);
      expect(toHex(await leafOf(Buffer.from(canonical_json))), about).to.equal(leaf);
    }
  });

  it('writes every text as the service writes it', () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes));
    const record = canonicalRecords[0]?.record;
    fc.assert(
      fc.property(fc.oneof(units, fc.string({ unit: 'grapheme' })), (detail) => {
        const published = { seq: 1, checkpoint: null, ...record, detail };
        const { seq, checkpoint, ...sealed } = published;
        expect(canonical(sealed)).to.equal(canonicalRecord(readRecord(published)));
      }),
    );
  });

  it('folds each published audit path to its root, and no other leaf or index', async () => {
    for (const { tree_size, root_hash, proofs } of merkleTrees.trees) {
      for (const { leaf_index, leaf, audit_path } of proofs) {
        const bytes = Buffer.from(leaf, 'hex');
        expect(await rootOf(bytes, leaf_index, tree_size, audit_path)).to.equal(root_hash);
        expect(await rootOf(bytes, leaf_index + 1, tree_size, audit_path)).not.to.equal(root_hash);
        expect(await rootOf(Buffer.alloc(32), leaf_index, tree_size, audit_path)).not.to.equal(root_hash);
        expect(await rootOf(bytes, leaf_index, tree_size, [...audit_path, leaf])).not.to.equal(root_hash);
      }
    }
  });

  it('verifies the published ledger: its chain, and each record by its proof, also one that was read before sealing', async () => {
    await expectSame(
      await verifyCheckpoints(checkpoints, keys),
      { ...auditor.verifyCheckpoints(checkpoints) },
      'chain',
    );
    for (const { record, proof } of proven) {
      const verdict = await verifyRecord(record, proof, keys);
      expect(verdict.verified).to.equal(true);
      await expectSame(verdict, { ...auditor.verifyRecord(record, proof) }, 'record');
      expect((await verifyRecord({ ...record, checkpoint: null }, proof, keys)).verified).to.equal(true);
    }
  });

  it('finds each alteration of a record and of its proof, as the library does', async () => {
    for (const { record, proof } of proven) {
      for (const [what, other] of alterations(record)) {
        const verdict = await verifyRecord(other, proof, keys);
        expect(verdict.verified, what).to.equal(false);
        await expectSame(verdict, { ...auditor.verifyRecord(other, proof) }, what);
      }
      for (const [what, other] of alterations(proof)) {
        const verdict = await verifyRecord(record, other, keys);
        expect(verdict.verified, what).to.equal(false);
        await expectSame(verdict, { ...auditor.verifyRecord(record, other) }, what);
      }
      for (const [what, checkpoint] of alterations(proof.checkpoint as Members)) {
        const verdict = await verifyRecord(record, { ...proof, checkpoint }, keys);
        expect(verdict.verified, what).to.equal(false);
        await expectSame(verdict, { ...auditor.verifyRecord(record, { ...proof, checkpoint }) }, what);
      }
    }
  });

  it('finds each alteration of a checkpoint, a missing one and a repeated one, as the library does', async () => {
    const chains = [
      ...checkpoints.flatMap((checkpoint, index) =>
        alterations(checkpoint).map(([what, other]) => [what, checkpoints.with(index, other)] as const),
      ),
      ['the first is missing', checkpoints.slice(1)] as const,
      ['one is missing', checkpoints.toSpliced(1, 1)] as const,
      ['one is repeated', [...checkpoints.slice(0, 1), ...checkpoints]] as const,
      ['they are reversed', checkpoints.toReversed()] as const,
    ];
    for (const [what, chain] of chains) {
      const verdict = await verifyCheckpoints(chain, keys);
      expect(verdict.verified, what).to.equal(false);
      await expectSame(verdict, { ...auditor.verifyCheckpoints(chain) }, what);
    }
  });

  it('continues after the last checkpoint of the page before, and compares marks', async () => {
    const [after] = checkpoints;
    expect((await verifyCheckpoints(checkpoints.slice(1), keys, { after })).verified).to.equal(true);
    const { mark = '' } = await verifyCheckpoints(checkpoints, keys);
    const newest = checkpoints.length;
    for (const text of [
      '',
      mark,
      `${mark}, 1:${after?.root_hash}`,
      `1:${'0'.repeat(64)}`,
      `${newest + 1}:${'0'.repeat(64)}`,
    ]) {
      const marks = text === '' ? [] : text.split(', ');
      const verdict = await verifyCheckpoints(checkpoints, keys, { marks: readMarks(text) });
      await expectSame(verdict, { ...auditor.verifyCheckpoints(checkpoints, { marks }) }, text);
    }
    const later = { marks: readMarks(`${newest + 1}:${'0'.repeat(64)}`), more: true };
    expect((await verifyCheckpoints(checkpoints, keys, later)).verified).to.equal(true);
    for (const text of ['1', `01:${'0'.repeat(64)}`, `1:${'A'.repeat(64)}`]) expect(() => readMarks(text)).to.throw();
  });

  it('trusts only the keys that are pasted, and says what is wrong with them', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { kid } = jwk;
    const other = { ...publicKey.export({ format: 'jwk' }), kid };
    const [{ record, proof } = { record: {}, proof: {} }] = proven;
    const faultWith = async (pasted: unknown) =>
      (await verifyRecord(record, proof, await readKeys(JSON.stringify(pasted)))).fault;
    expect(await faultWith(jwk)).to.equal(undefined);
    expect(await faultWith({ keys: [other, jwk] })).to.equal(undefined);
    expect(await faultWith({ keys: [{ kty: 'RSA', kid }, jwk] })).to.equal(undefined);
    expect(await faultWith({ keys: [other] })).to.equal('invalid_signature');
    expect(await faultWith({ keys: [{ ...jwk, kid: 'another' }] })).to.equal('unknown_key');
    const withPrivatePart = JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid });
    const doubled = JSON.stringify(jwk).replace('{', '{"kid":"other",');
    for (const pasted of [
      withPrivatePart,
      doubled,
      '',
      'x',
      '{}',
      'null',
      '{"keys":[]}',
      '{"keys":[{"kty":"EC","crv":"P-256","kid":"a"}]}',
    ]) {
      const refused = await readKeys(pasted).catch((error: { fault: string; message: string }) => error);
      expect(refused, pasted).to.include({ fault: 'keys' });
    }
  });
});
