import { expect } from 'chai';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import type { VerificationOutcome } from '../../../application/ledger/verify.ts';
import type { CheckpointVerifier } from '../../../application/ports/keys.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import { type Checkpoint, checkpointHash, formatMark } from '../../../domain/ledger/checkpoint.ts';
import { type LedgerFixture, ledgerFixture, newKeys } from '../../support/ledger-fixture.ts';

const OTHER = 'ab'.repeat(32);

describe('verifying the ledger', () => {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await ledgerFixture();
  });
  afterEach(() => fixture.close());

  /** Seals checkpoints of 3, 4, 5 … records, each with a gap of two numbers in the middle. */
  async function sealSome(count: number): Promise<readonly Checkpoint[]> {
    const sealed: Checkpoint[] = [];
    for (let size = 3; size < 3 + count; size += 1) {
      await fixture.append(2);
      fixture.skipNumbers(2);
      sealed.push(await fixture.sealed(size - 2));
    }
    return sealed;
  }

  const faultOf = (outcome: VerificationOutcome) => (outcome.kind === 'broken' ? outcome.fault : undefined);

  it('accepts an empty ledger, and counts unsealed records', async () => {
    const counts = { checkpoints: 0, records: 0, archived: 0, unsealed: 0 };
    const recorded: readonly unknown[] = [];
    expect(await fixture.verify()).to.deep.equal({ kind: 'intact', lastMark: undefined, counts, recorded });
    await fixture.append(2500);
    const unsealed = { ...counts, unsealed: 2500 };
    expect(await fixture.verify()).to.deep.equal({ kind: 'intact', lastMark: undefined, counts: unsealed, recorded });
  });

  it('reports a record with a number below 1, even before the first checkpoint', async () => {
    await fixture.append(2);
    fixture.withoutTriggers.exec("insert into ledger (seq, ts, event) values (0, 1, 'forged')");
    expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'record_outside', seq: 0 });
  });

  it('accepts a ledger with gaps, unsealed records and checkpoints larger than a page', async () => {
    await sealSome(3);
    await fixture.sealed(4321);
    const last = await fixture.sealed(1);
    await fixture.append(6);
    const outcome = await fixture.verify();
    expect(outcome).to.deep.equal({
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
    const [first] = await sealSome(3);
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
    await sealSome(2);
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
        archivedThrough: async () => undefined,
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
    await sealSome(4);
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
      const marks = await sealSome(5);
      expect(await fixture.verify({ marks })).to.have.property('kind', 'intact');
    });

    it('names the first mark that contradicts its checkpoint or has none', async () => {
      const [, second, , fourth] = await sealSome(4);
      if (second === undefined || fourth === undefined) throw new Error('too few');
      const contradicted = { checkpointId: 2, rootHash: OTHER };
      expect(faultOf(await fixture.verify({ marks: [fourth, contradicted] }))).to.deep.equal({
        kind: 'mark_contradicted',
        checkpointId: 2,
      });
      const beyond = { checkpointId: 5, rootHash: OTHER };
      expect(faultOf(await fixture.verify({ marks: [second, beyond] }))).to.deep.equal({
        kind: 'mark_unmatched',
        checkpointId: 5,
        newestId: 4,
      });
    });

    it('does not count a checkpoint that a mark contradicts', async () => {
      const [first, second] = await sealSome(2);
      if (first === undefined || second === undefined) throw new Error('too few');
      const outcome = await fixture.verify({ marks: [{ ...second, rootHash: OTHER }] });
      expect(outcome).to.deep.include({
        lastMark: { checkpointId: 1, rootHash: first.rootHash },
        counts: { checkpoints: 1, records: first.treeSize, archived: 0, unsealed: 0 },
      });
    });

    it('detects that the end of the ledger was removed, even if the rest was sealed again', async () => {
      const mark = (await sealSome(4)).at(-1);
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

  describe('finds and names the fault:', () => {
    const faults: readonly (readonly [string, string, object])[] = [
      [
        'a deleted record',
        'delete from ledger where seq = 6',
        { kind: 'tree_size', checkpointId: 2, sealed: 4, held: 3 },
      ],
      [
        'a record inserted into a gap',
        "insert into ledger (seq, ts, event, decision) values (8, 1, 'token.issued', 'allow')",
        { kind: 'tree_size', checkpointId: 2, sealed: 4, held: 5 },
      ],
      [
        'a record below the first number',
        "insert into ledger (seq, ts, event, decision) values (0, 1, 'token.issued', 'allow')",
        { kind: 'record_outside', seq: 0 },
      ],
      [
        'a record far below it',
        "insert into ledger (seq, ts, event, decision) values (-9000000000000, 1, 'token.issued', 'allow')",
        { kind: 'record_outside', seq: -9_000_000_000_000 },
      ],
      [
        'a replaced record',
        "delete from ledger where seq = 6; insert into ledger (seq, ts, event, decision) values (8, 1, 'x', 'allow')",
        { kind: 'root_mismatch', checkpointId: 2 },
      ],
      [
        'two swapped records',
        'update ledger set seq = -1 where seq = 6; update ledger set seq = 6 where seq = 7; update ledger set seq = 7 where seq = -1',
        { kind: 'root_mismatch', checkpointId: 2 },
      ],
      [
        'a record moved to the next checkpoint',
        'update ledger set seq = 14 where seq = 11',
        { kind: 'tree_size', checkpointId: 2, sealed: 4, held: 3 },
      ],
      [
        'a removed checkpoint',
        'delete from checkpoints where checkpoint_id = 2',
        { kind: 'id_not_contiguous', checkpointId: 3, expectedId: 2 },
      ],
      [
        'a removed first checkpoint',
        'delete from checkpoints where checkpoint_id = 1',
        { kind: 'id_not_contiguous', checkpointId: 2, expectedId: 1 },
      ],
      [
        'a checkpoint before the first',
        'insert into checkpoints select -4, first_seq, last_seq, tree_size, root_hash, prev_checkpoint_hash, closed_at, kid, signature from checkpoints where checkpoint_id = 1',
        { kind: 'id_not_contiguous', checkpointId: -4, expectedId: 1 },
      ],
      [
        'a shortened range at the end of a page',
        'update checkpoints set last_seq = 1 where checkpoint_id = 4',
        { kind: 'range_inverted', checkpointId: 4 },
      ],
      [
        'a foreign signature',
        'update checkpoints set signature = (select signature from checkpoints where checkpoint_id = 1) where checkpoint_id = 3',
        { kind: 'invalid_signature', checkpointId: 3 },
      ],
      [
        'an unknown key',
        "update checkpoints set kid = 'nobody' where checkpoint_id = 3",
        { kind: 'unknown_key', checkpointId: 3 },
      ],
    ];
    for (const [what, edit, fault] of faults) {
      it(what, async () => {
        await sealSome(4);
        fixture.withoutTriggers.exec(edit);
        const outcome = await fixture.verify();
        expect(faultOf(outcome)).to.deep.equal(fault);
      });
    }

    it('checkpoints that were sealed again and linked with another key', async () => {
      await sealSome(3);
      fixture.withoutTriggers.exec(
        "delete from checkpoints where checkpoint_id > 1; update ledger set reason = 'x' where seq = 9",
      );
      const stranger = (await newKeys()).checkpoints;
      await fixture.seal({ signer: { ...stranger, kid: fixture.keys.checkpoints.kid } });
      expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'invalid_signature', checkpointId: 2 });
    });

    it('a signed link to another than the previous checkpoint', async () => {
      await sealSome(2);
      await fixture.append(2);
      const { checkpoints } = fixture.storage;
      const unsealed = await checkpoints.unsealed();
      const previous = unsealed?.previous && { ...unsealed.previous, rootHash: OTHER };
      await fixture.seal({
        checkpoints: { ...checkpoints, unsealed: async () => unsealed && { ...unsealed, previous } },
        chain: { examine: async () => ({ kind: 'trusted', newest: previous }), sealed: () => undefined },
      });
      expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'link_broken', checkpointId: 3 });
    });

    it('the first of several faults, and the verified part before it', async () => {
      const [first] = await sealSome(4);
      fixture.withoutTriggers.exec(
        "update ledger set reason = 'x' where seq in (7, 20); update checkpoints set kid = 'k' where checkpoint_id = 3",
      );
      const outcome = await fixture.verify();
      expect(faultOf(outcome)).to.deep.equal({ kind: 'root_mismatch', checkpointId: 2 });
      expect(outcome.lastMark && formatMark(outcome.lastMark)).to.equal(`1:${first?.rootHash}`);
      expect(outcome.counts).to.deep.equal({ checkpoints: 1, records: 3, archived: 0, unsealed: 0 });
    });
  });

  describe('with archived months', () => {
    const through = (checkpoint: Checkpoint | undefined) =>
      checkpoint && { ...checkpoint, archivedBefore: fixture.clock.now() };
    /** An archive through this checkpoint. Its records of the next month are still stored. */
    const archived = (last: Checkpoint | undefined, archivedBefore: Instant = fixture.clock.now()) => ({
      ledger: {
        ...fixture.storage.checkpoints,
        archivedThrough: async () => last && { ...last, archivedBefore },
      },
    });

    it('verifies signatures and links of archived checkpoints, and the records of all others too', async () => {
      const [, second] = await sealSome(4);
      fixture.withoutTriggers.exec('delete from ledger where seq < 10');
      expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'tree_size', checkpointId: 1, sealed: 3, held: 0 });
      expect((await fixture.verify(archived(second))).counts).to.deep.equal({
        checkpoints: 4,
        records: 5 + 6,
        archived: 2,
        unsealed: 0,
      });
      fixture.withoutTriggers.exec('update checkpoints set closed_at = closed_at - 1000 where checkpoint_id = 1');
      expect(faultOf(await fixture.verify(archived(second)))).to.deep.equal({
        kind: 'invalid_signature',
        checkpointId: 1,
      });
    });

    it('does not mistake altered or inserted records for archived records', async () => {
      const [, second] = await sealSome(4);
      fixture.withoutTriggers.exec("update ledger set reason = 'x' where seq = 7");
      expect(faultOf(await fixture.verify(archived(second)))).to.deep.equal({ kind: 'root_mismatch', checkpointId: 2 });
      fixture.withoutTriggers.exec("insert into ledger (seq, ts, event, decision) values (8, 1, 'x', 'allow')");
      expect(faultOf(await fixture.verify(archived(second)))).to.have.property('kind', 'tree_size');
    });

    it('detects that a month is archived during the verification', async () => {
      const [, second] = await sealSome(4);
      const { checkpoints } = fixture.storage;
      let asked = 0;
      fixture.withoutTriggers.exec('delete from ledger where seq < 10');
      const ledger = { ...checkpoints, archivedThrough: async () => (asked++ === 0 ? undefined : through(second)) };
      expect(await fixture.verify({ ledger })).to.have.property('kind', 'intact');
    });

    it('detects that a month is archived between two pages of a checkpoint', async () => {
      const sealed = await fixture.sealed(1200);
      const { checkpoints } = fixture.storage;
      let pages = 0;
      const ledger = {
        ...checkpoints,
        archivedThrough: async () => (pages === 0 ? undefined : through(sealed)),
        async records(...asked: Parameters<typeof checkpoints.records>) {
          const page = await checkpoints.records(...asked);
          if (pages++ === 0) fixture.withoutTriggers.exec('delete from ledger');
          return page;
        },
      };
      expect((await fixture.verify({ ledger })).counts).to.include({ archived: 1, records: 0 });
    });

    it('counts a checkpoint as archived only if the records that remain are of a month that stays', async () => {
      const [, second] = await sealSome(2);
      const records = await fixture.storage.checkpoints.records({ firstSeq: 6, lastSeq: 12 }, 0, 10);
      const [gone, , staying] = records.map(({ at }) => at);
      if (gone === undefined || staying === undefined) throw new Error('too few');
      fixture.withoutTriggers.exec('delete from ledger where seq <= 6');
      const missing = { kind: 'tree_size', checkpointId: 2, sealed: 4, held: 3 };
      const atOldest = records[1]?.at;
      expect((await fixture.verify(archived(second, atOldest))).counts).to.include({ archived: 2 });
      expect(faultOf(await fixture.verify(archived(second, staying)))).to.deep.equal(missing);
      // Long before the end of the checkpoint before it, whose times are signed.
      const longBefore = plusSeconds(gone, -2 * 24 * 3600);
      expect(faultOf(await fixture.verify(archived(second, longBefore)))).to.deep.equal(missing);
    });
  });

  it('throws if the ledger cannot be read, and does not report a fault', async () => {
    await sealSome(3);
    const { checkpoints } = fixture.storage;
    for (const method of ['page', 'records', 'archivedThrough', 'outside'] as const) {
      const ledger = { ...checkpoints, [method]: () => Promise.reject(new Error('away')) };
      expect(await fixture.verify({ ledger }).catch((error: Error) => error.message)).to.equal('away');
    }
    const verifier: CheckpointVerifier = { verify: () => Promise.reject(new Error('no keys')) };
    expect(await fixture.verify({ verifier }).catch((error: Error) => error.message)).to.equal('no keys');
  });
});
