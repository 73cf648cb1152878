import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import {
  type Auditor,
  createAuditor,
  type PublishedCheckpoint,
  type PublishedRecord,
} from '../../../../adapters/sdk/audit/audit.ts';
import { databasesByLength } from '../../../support/databases.ts';
import { canonicalRecords, publishedLedger } from '../../../support/independent-ledger/vectors.ts';
import { type Mandate, startMandate } from '../../../support/mandate.ts';

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
  if (typeof value !== 'string') return 'altered';
  if (value === 'allow') return 'deny';
  // The altered text still has the form of a hash, an instant or a word.
  return value.replace(/[0-9a-z](?=[^0-9a-z]*$)/, (last) => (last === '1' ? '2' : '1'));
}

describe('The auditor of a ledger that another program published', () => {
  const { jwk, records } = publishedLedger;
  const auditor = createAuditor({ keys: { keys: [jwk] } });
  const checkpoints = publishedLedger.checkpoints.map(({ signed_bytes, ...checkpoint }) => checkpoint);
  const sealedBy = (checkpoint: Members) =>
    records.filter(
      ({ seq }) => Number(seq) >= Number(checkpoint.first_seq) && Number(seq) <= Number(checkpoint.last_seq),
    );

  for (const { about, record, leaf } of canonicalRecords) {
    it(`computes the published leaf for: ${about}`, () => {
      expect(auditor.leafHash({ seq: 1, checkpoint: null, ...record })).to.equal(leaf);
    });
  }

  it('verifies the checkpoints, and for each one the records that it seals', () => {
    expect(auditor.verifyCheckpoints(checkpoints)).to.include({ verified: true, checkpoints: checkpoints.length });
    for (const checkpoint of checkpoints) {
      expect(auditor.verifySealed(checkpoint, sealedBy(checkpoint))).to.include({ verified: true });
    }
  });

  it('finds each alteration of a checkpoint', () => {
    for (const [index, checkpoint] of checkpoints.entries()) {
      const { signature, closed_at } = checkpoint as Members & { signature: string; closed_at: string };
      const spellings: readonly (readonly [string, Members])[] = [
        ['its signature in upper case', { ...checkpoint, signature: signature.toUpperCase() }],
        ['text after its signature', { ...checkpoint, signature: `${signature}zz` }],
        ['its time in another notation', { ...checkpoint, closed_at: closed_at.replace('Z', '+00:00') }],
      ];
      for (const [what, other] of [...alterations(checkpoint), ...spellings]) {
        expect(auditor.verifyCheckpoints(checkpoints.with(index, other as never)), what).to.include({
          verified: false,
        });
      }
    }
  });

  it('finds a missing checkpoint, and a page that does not continue the previous one', () => {
    expect(auditor.verifyCheckpoints(checkpoints.slice(1))).to.include({ verified: false, fault: 'id_not_contiguous' });
    const after = checkpoints[0];
    expect(auditor.verifyCheckpoints(checkpoints.slice(1), { after })).to.include({ verified: true });
    expect(auditor.verifyCheckpoints(checkpoints, { after })).to.include({ verified: false });
  });

  it('finds each alteration of a record, a missing record, and two swapped records', () => {
    const [checkpoint] = checkpoints;
    if (checkpoint === undefined) throw new Error('there is no checkpoint');
    const sealed = sealedBy(checkpoint);
    for (const [index, record] of sealed.entries()) {
      expect(auditor.verifySealed(checkpoint, sealed.toSpliced(index, 1))).to.include({ fault: 'tree_size' });
      for (const [what, other] of alterations(record)) {
        // The leaf hash does not cover seq. An altered seq is found if it contradicts the checkpoint or another record.
        if (what === 'seq altered' && !sealed.some(({ seq }) => seq === other.seq) && other.seq !== sealed.length + 1)
          continue;
        expect(auditor.verifySealed(checkpoint, sealed.with(index, other)), what).to.include({ verified: false });
      }
    }
    expect(auditor.verifySealed(checkpoint, sealed.toReversed())).to.include({ fault: 'other_record' });
  });

  it('trusts the given keys only', () => {
    const other = createAuditor({ keys: { keys: [{ ...jwk, kid: 'another' }] } });
    expect(other.verifyCheckpoints(checkpoints)).to.include({ fault: 'unknown_key' });
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    for (const foreign of [
      { ...publicKey.export({ format: 'jwk' }), kid: jwk.kid },
      { kty: 'RSA', kid: 'x' },
    ]) {
      expect(() => createAuditor({ keys: { keys: [foreign] } })).to.throw(TypeError, /holds no EC key on P-256/);
      expect(createAuditor({ keys: { keys: [foreign, jwk] } }).verifyCheckpoints(checkpoints).verified).to.equal(true);
    }
    expect(() => createAuditor({ keys: { keys: [] } })).to.throw(TypeError);
  });
});

for (const database of databasesByLength) {
  describe(`The auditor of a ledger that the service publishes on ${database.name}`, () => {
    let mandate: Mandate;
    let auditor: Auditor;
    let records: readonly PublishedRecord[];
    let checkpoints: readonly PublishedCheckpoint[];
    const proofOf = async (seq: number) => (await mandate.admin('GET', `/audit/records/${seq}/proof`)).body;

    before(async () => {
      mandate = await startMandate({ database });
      const agent = await mandate.agent();
      for (let pass = 0; pass < 2; pass += 1) {
        for (let round = 0; round < 3; round += 1) await agent.exchange();
        await mandate.jobs.seal();
      }
      auditor = createAuditor({ keys: JSON.parse((await mandate.get('/.well-known/jwks.json')).text) });
      records = (await mandate.admin('GET', '/audit')).body.records as readonly PublishedRecord[];
      checkpoints = (await mandate.admin('GET', '/audit/checkpoints')).body
        .checkpoints as readonly PublishedCheckpoint[];
    });
    after(() => mandate.stop());

    it('verifies every record by its proof, also a record that was read before sealing', async () => {
      for (const record of records) {
        const proof = await proofOf(record.seq);
        const { checkpoint_id, root_hash } = checkpoints[Number(record.checkpoint) - 1] ?? {};
        const expected = { verified: true, checkpointId: checkpoint_id, mark: `${checkpoint_id}:${root_hash}` };
        expect(auditor.verifyRecord(record, proof)).to.deep.equal(expected);
        expect(auditor.verifyRecord({ ...record, checkpoint: null }, proof)).to.deep.equal(expected);
      }
    });

    it('finds each alteration of a record or of its proof', async () => {
      const [record] = records;
      if (record === undefined) throw new Error('there is no record');
      const proof = await proofOf(record.seq);
      const spellings: readonly (readonly [string, Members])[] = [
        ['its time in another notation', { ...record, ts: record.ts.replace('Z', '+00:00') }],
        ['a count of null', { ...record, count: null }],
      ];
      for (const [what, other] of [...alterations({ ...record }), ...spellings]) {
        expect(auditor.verifyRecord(other, proof), what).to.include({ verified: false });
      }
      for (const [what, other] of alterations(proof)) {
        expect(auditor.verifyRecord(record, other), what).to.include({ verified: false });
      }
      for (const [what, other] of alterations(proof.checkpoint as Members)) {
        expect(auditor.verifyRecord(record, { ...proof, checkpoint: other }), what).to.include({ verified: false });
      }
      const invented = { approved_by: 'ada' };
      for (const [shown, shownProof] of [
        [{ ...record, ...invented }, proof],
        [record, { ...proof, ...invented }],
        [record, { ...proof, checkpoint: { ...(proof.checkpoint as Members), ...invented } }],
      ]) {
        expect(auditor.verifyRecord(shown, shownProof)).to.include({ fault: 'unreadable' });
      }
    });

    it('refuses the proof of another record', async () => {
      const [first, second] = records;
      expect(auditor.verifyRecord(first, await proofOf(second?.seq ?? 0))).to.include({ fault: 'other_record' });
    });

    it('refuses a seq that contradicts the leaf index', async () => {
      for (const record of records) {
        const proof = await proofOf(record.seq);
        const { first_seq, last_seq } = proof.checkpoint as PublishedCheckpoint;
        for (let seq = first_seq; seq <= last_seq; seq += 1) {
          if (seq === record.seq) continue;
          const moved = auditor.verifyRecord({ ...record, seq }, { ...proof, seq });
          expect(moved, `${record.seq} as ${seq}`).to.include({ verified: false, fault: 'other_record' });
        }
      }
    });

    it('detects a truncated ledger by a mark', () => {
      const marks = checkpoints.map(({ checkpoint_id, root_hash }) => `${checkpoint_id}:${root_hash}`);
      const [first, ...rest] = checkpoints;
      const cut = { verified: false, fault: 'mark_unmatched' };
      expect(auditor.verifyCheckpoints([first], { marks })).to.include(cut);
      expect(auditor.verifyCheckpoints([], { marks })).to.include(cut);
      expect(auditor.verifyCheckpoints([], { marks, after: first })).to.include(cut);
      // The same checkpoints in two pages: `more` says that another page follows.
      expect(auditor.verifyCheckpoints([first], { marks, more: true })).to.include({ verified: true });
      expect(auditor.verifyCheckpoints(rest, { marks, after: first })).to.include({ verified: true });
    });

    it('compares saved marks with the checkpoints', () => {
      const marks = checkpoints.map(({ checkpoint_id, root_hash }) => `${checkpoint_id}:${root_hash}`);
      expect(auditor.verifyCheckpoints(checkpoints, { marks })).to.deep.equal({
        verified: true,
        checkpoints: 2,
        mark: marks[1],
      });
      const contradicted = auditor.verifyCheckpoints(checkpoints, { marks: [`2:${'0'.repeat(64)}`] });
      expect(contradicted).to.include({ verified: false, fault: 'mark_contradicted' });
      expect(auditor.verifyCheckpoints(checkpoints, { marks: ['2:0'] })).to.include({ fault: 'unreadable' });
    });
  });
}
