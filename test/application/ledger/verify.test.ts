import { expect } from 'chai';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import type { CheckpointVerifier } from '../../../application/ports/keys.ts';
import { type Checkpoint, checkpointHash } from '../../../domain/ledger/checkpoint.ts';
import { faultOf, type LedgerFixture, ledgerFixture, OTHER_ROOT, sealSome } from '../../support/ledger-fixture.ts';

describe('verifying the ledger', () => {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await ledgerFixture();
  });
  afterEach(() => fixture.close());

  it('accepts an empty ledger, and counts unsealed records', async () => {
    const counts = { checkpoints: 0, records: 0, archived: 0, unsealed: 0 };
    const recorded: readonly unknown[] = [];
    expect(await fixture.verify()).to.deep.include({ kind: 'intact', lastMark: undefined, counts, recorded });
    await fixture.append(2500);
    const unsealed = { ...counts, unsealed: 2500 };
    expect(await fixture.verify()).to.deep.include({ kind: 'intact', lastMark: undefined, counts: unsealed, recorded });
  });

  it('reports a record with a number below 1, even before the first checkpoint', async () => {
    await fixture.append(2);
    fixture.withoutTriggers.exec("insert into ledger (seq, ts, event) values (0, 1, 'forged')");
    expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'record_outside', seq: 0 });
  });

  it('accepts a ledger with gaps, unsealed records and checkpoints larger than a page', async () => {
    await sealSome(fixture, 3);
    await fixture.sealed(4321);
    const last = await fixture.sealed(1);
    await fixture.append(6);
    const outcome = await fixture.verify();
    expect(outcome).to.deep.include({
      kind: 'intact',
      lastMark: { checkpointId: 5, rootHash: last.rootHash },
      counts: { checkpoints: 5, records: 3 + 4 + 5 + 4321 + 1, archived: 0, unsealed: 6 },
      recorded: [],
    });
  });

  it('reports checkpoints that were closed late, by the oldest record of each', async () => {
    await fixture.sealed(3);
    fixture.clock.advance(2 * 3600);
    await fixture.append(1);
    fixture.withoutTriggers.exec(`insert into ledger (ts, event) values (${fixture.clock.now()}, 'later')`);
    expect((await fixture.seal()).kind).to.equal('sealed');
    fixture.withoutTriggers.exec(`insert into ledger (ts, event) values (${fixture.clock.now()}, 'in time')`);
    expect((await fixture.seal()).kind).to.equal('sealed');
    const { kind, late } = await fixture.verify({ interval: 60 });
    expect(kind).to.equal('intact');
    expect(late?.count).to.equal(1);
    expect(late?.first.checkpointId).to.equal(2);
    expect(await fixture.verify({ interval: 1000 })).not.to.have.property('late');
  });

  it('reports impossible dates and numbers as faults and does not throw', async () => {
    const [first] = await sealSome(fixture, 3);
    if (first === undefined) throw new Error('not sealed');
    const atFirst = { seq: first.firstSeq, last: first.lastSeq };
    for (const [edit, kind] of [
      ['update ledger set ts = 9223372036854775807 where seq = @seq', 'root_mismatch'],
      ['update checkpoints set closed_at = 9223372036854775807 where last_seq = @last', 'invalid_signature'],
    ] as const) {
      const statement = fixture.withoutTriggers.prepare(edit);
      fixture.withoutTriggers.exec(
        'begin; create table kept as select * from ledger; create table seals as select * from checkpoints; commit',
      );
      statement.run(edit.includes('@seq') ? { seq: atFirst.seq } : { last: atFirst.last });
      expect(faultOf(await fixture.verify()), edit).to.deep.equal({ kind, checkpointId: 1 });
      fixture.withoutTriggers.exec(
        'delete from ledger; insert into ledger select * from kept; drop table kept; delete from checkpoints; insert into checkpoints select * from seals; drop table seals',
      );
    }
    expect((await fixture.verify()).kind).to.equal('intact');
  });

  it('never queries an impossible number, whatever range a checkpoint names', async () => {
    await sealSome(fixture, 2);
    fixture.withoutTriggers.exec('update checkpoints set last_seq = 9223372036854775807 where checkpoint_id = 2');
    const { checkpoints } = fixture.storage;
    const asked: number[] = [];
    const outcome = await fixture.verify({
      ledger: {
        ...checkpoints,
        records(range, after, limit) {
          asked.push(range.lastSeq);
          return checkpoints.records(range, after, limit);
        },
      },
    });
    expect(faultOf(outcome)).to.deep.equal({ kind: 'invalid_signature', checkpointId: 2 });
    expect(Math.max(...asked)).to.equal(Number.MAX_SAFE_INTEGER);
  });

  it('reads many small checkpoints in few pages of records', async function () {
    this.timeout(60_000);
    const sealed = await fixture.sealed(1);
    const { checkpoints } = fixture.storage;
    // The chain repeats one checkpoint, so that only the number of reads is real.
    const many = (after: number, limit: number) =>
      Array.from({ length: Math.max(0, Math.min(limit, 1800 - after)) }, (_, index) => ({
        ...sealed,
        checkpointId: after + index + 1,
      }));
    let pages = 0;
    const [record] = await checkpoints.records({ firstSeq: 1, lastSeq: 1 }, 0, 1);
    if (record === undefined) throw new Error('no record');
    const linked: Checkpoint[] = [];
    for (const one of many(0, 1800)) {
      const previous = linked.at(-1);
      const prevCheckpointHash = previous && checkpointHash(sha256Bytes, previous);
      linked.push({ ...one, firstSeq: one.checkpointId, lastSeq: one.checkpointId, prevCheckpointHash });
    }
    const outcome = await fixture.verify({
      verifier: { verify: async () => 'verified' },
      ledger: {
        archivings: async () => [],
        outside: async () => undefined,
        page: async (after, limit) => linked.filter(({ checkpointId }) => checkpointId > after).slice(0, limit),
        async records({ firstSeq, lastSeq }, after, limit) {
          pages += 1;
          const from = Math.max(firstSeq, after + 1, 1);
          const length = Math.max(0, Math.min(limit, Math.min(lastSeq, 1800) - from + 1));
          return Array.from({ length }, (_, index) => ({ ...record, seq: from + index }));
        },
      },
    });
    expect(outcome).to.have.property('kind', 'intact');
    expect(outcome.counts).to.deep.equal({ checkpoints: 1800, records: 1800, archived: 0, unsealed: 0 });
    expect(pages).to.be.below(10);
  });

  it('reports its progress up to the end', async () => {
    await fixture.sealed(5000);
    const { lastSeq } = await fixture.sealed(10);
    const told: (readonly [number, number])[] = [];
    await fixture.verify({ progress: (done, total) => told.push([done, total]) });
    expect(told.length).to.be.at.least(3);
    expect(told.at(-1)).to.deep.equal([lastSeq, lastSeq]);
    expect(told.map(([done]) => done)).to.deep.equal(told.map(([done]) => done).sort((a, b) => a - b));
    expect(told.every(([, total]) => total === lastSeq)).to.equal(true);
  });

  it('reports no fault if records are sealed during the verification', async () => {
    await sealSome(fixture, 4);
    const { checkpoints } = fixture.storage;
    let busy = 12;
    const outcome = await fixture.verify({
      ledger: {
        ...checkpoints,
        async records(range, after, limit) {
          const page = await checkpoints.records(range, after, limit);
          if (busy-- > 0) await fixture.sealed(3);
          return page;
        },
      },
    });
    expect(outcome).to.have.property('kind', 'intact');
  });

  describe('with marks', () => {
    it('confirms several marks at once', async () => {
      const marks = await sealSome(fixture, 5);
      expect(await fixture.verify({ marks })).to.have.property('kind', 'intact');
    });

    it('names the first mark that contradicts its checkpoint or has none', async () => {
      const [, second, , fourth] = await sealSome(fixture, 4);
      if (second === undefined || fourth === undefined) throw new Error('too few');
      const contradicted = { checkpointId: 2, rootHash: OTHER_ROOT };
      expect(faultOf(await fixture.verify({ marks: [fourth, contradicted] }))).to.deep.equal({
        kind: 'mark_contradicted',
        checkpointId: 2,
      });
      const beyond = { checkpointId: 5, rootHash: OTHER_ROOT };
      expect(faultOf(await fixture.verify({ marks: [second, beyond] }))).to.deep.equal({
        kind: 'mark_unmatched',
        checkpointId: 5,
        newestId: 4,
      });
    });

    it('does not count a checkpoint that a mark contradicts', async () => {
      const [first, second] = await sealSome(fixture, 2);
      if (first === undefined || second === undefined) throw new Error('too few');
      const outcome = await fixture.verify({ marks: [{ ...second, rootHash: OTHER_ROOT }] });
      expect(outcome).to.deep.include({
        lastMark: { checkpointId: 1, rootHash: first.rootHash },
        counts: { checkpoints: 1, records: first.treeSize, archived: 0, unsealed: 0 },
      });
    });

    it('detects that the end of the ledger was removed, even if the rest was sealed again', async () => {
      const mark = (await sealSome(fixture, 4)).at(-1);
      if (mark === undefined) throw new Error('too few');
      const { firstSeq } = mark;
      fixture.withoutTriggers.exec(
        `delete from checkpoints where checkpoint_id = 4; delete from ledger where seq >= ${firstSeq}`,
      );
      await fixture.restart();
      expect(await fixture.verify()).to.have.property('kind', 'intact');
      expect(faultOf(await fixture.verify({ marks: [mark] }))).to.have.property('kind', 'mark_unmatched');
      await fixture.sealed(3);
      expect(await fixture.verify()).to.have.property('kind', 'intact');
      expect(faultOf(await fixture.verify({ marks: [mark] }))).to.have.property('kind', 'mark_contradicted');
    });
  });

  it('throws if the ledger cannot be read, and does not report a fault', async () => {
    await sealSome(fixture, 3);
    const { checkpoints } = fixture.storage;
    for (const method of ['page', 'records', 'archivings', 'outside'] as const) {
      const ledger = { ...checkpoints, [method]: () => Promise.reject(new Error('away')) };
      expect(await fixture.verify({ ledger }).catch((error: Error) => error.message)).to.equal('away');
    }
    const verifier: CheckpointVerifier = { verify: () => Promise.reject(new Error('no keys')) };
    expect(await fixture.verify({ verifier }).catch((error: Error) => error.message)).to.equal('no keys');
  });
});
