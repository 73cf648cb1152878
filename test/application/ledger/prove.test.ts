import { expect } from 'chai';
import type { ProofOutcome } from '../../../application/ledger/prove.ts';
import { BLOCK_SIZE } from '../../../application/ledger/sealed-tree.ts';
import { KEPT_SECONDS, RENEWED_AFTER_SECONDS } from '../../../application/ledger/sealed-trees.ts';
import { type Checkpoint, presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { presentRecord } from '../../../domain/ledger/record.ts';
import { isProven, type PublishedKeys } from '../../support/independent-ledger/verify-published.ts';
import { archivingOf, atTime, departedMonth } from '../../support/ledger/archivings.ts';
import { type LedgerFixture, ledgerFixture, newKeys } from '../../support/ledger-fixture.ts';
import { byLength } from '../../support/length.ts';

const EVERYTHING = { firstSeq: 1, lastSeq: Number.MAX_SAFE_INTEGER };

describe('proving a record', () => {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await ledgerFixture();
  });
  afterEach(() => fixture.close());

  /** Verifies a proof with public data alone. */
  async function expectProven(outcome: ProofOutcome, seq: number): Promise<void> {
    if (outcome.kind !== 'proof') throw new Error(`${outcome.kind} for ${seq}`);
    const { checkpoint, leafIndex, auditPath } = outcome.proof;
    const proof = { seq, checkpoint: presentCheckpoint(checkpoint), leaf_index: leafIndex, audit_path: auditPath };
    const [record] = await fixture.storage.checkpoints.records(EVERYTHING, seq - 1, 1);
    if (record === undefined) throw new Error(`no record ${seq}`);
    expect(outcome.proof.seq).to.equal(seq);
    expect(isProven(presentRecord(record), proof, fixture.keys.published() as PublishedKeys), `record ${seq}`).to.equal(
      true,
    );
  }

  /** Counts the reads of whole checkpoints. A single proof reads only one block of records. */
  function counted(): { readonly reads: () => number; readonly prove: (seq: number) => Promise<ProofOutcome> } {
    const { checkpoints } = fixture.storage;
    let reads = 0;
    const prove = fixture.prover({
      checkpoints: {
        records(range, after, limit) {
          if (after === range.firstSeq - 1 && limit > BLOCK_SIZE + 1) reads += 1;
          return checkpoints.records(range, after, limit);
        },
      },
    });
    return { reads: () => reads, prove };
  }

  const SIZES = byLength({
    short: [1, 2, 3, BLOCK_SIZE, BLOCK_SIZE + 1],
    full: [1, 2, 3, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 3 * BLOCK_SIZE, 333],
  });
  for (const size of SIZES) {
    it(`returns a path from every record of a checkpoint of ${size} to the signed root`, async () => {
      await fixture.sealed(5);
      fixture.skipNumbers(2);
      const checkpoint = await fixture.sealed(size);
      const prove = fixture.prover();
      for (let seq = 8; seq <= checkpoint.lastSeq; seq += 1) {
        const outcome = await prove(seq);
        await expectProven(outcome, seq);
        expect(outcome).to.have.nested.property('proof.leafIndex', seq - 8);
        if (size === 1) expect(outcome).to.have.nested.property('proof.auditPath.length', 0);
      }
    });
  }

  it('answers not_found for a number that no append took, that is unsealed, or whose append was rolled back', async () => {
    await fixture.append(70);
    fixture.skipNumbers(3);
    await fixture.append(70);
    fixture.skipNumbers(1);
    const { lastSeq } = await fixture.sealed(1);
    await fixture.append(1);
    const prove = fixture.prover();
    for (const seq of [71, 72, 73, 144, lastSeq + 1, lastSeq + 2, 0, -1, Number.MAX_SAFE_INTEGER]) {
      expect(await prove(seq), `seq ${seq}`).to.deep.equal({ kind: 'not_found' });
    }
    for (const seq of [70, 74, lastSeq]) await expectProven(await prove(seq), seq);
  });

  describe('of an archived month', () => {
    const DECEMBER = '2026-12-03T10:00:00Z';
    const leave = () => fixture.withoutTriggers.exec("delete from ledger where event <> 'audit.archived'");

    async function recordOf(lastSeq: number): Promise<void> {
      await fixture.storage.ledger.append(archivingOf(DECEMBER, departedMonth('2026-11', [1, 1], [1, lastSeq])));
    }

    it('names the checkpoint of a record, if a sealed record names its month', async () => {
      const checkpoint = await fixture.sealed(9);
      await recordOf(checkpoint.lastSeq);
      await fixture.sealed(0);
      const prove = fixture.prover();
      await expectProven(await prove(3), 3);
      leave();
      expect(await fixture.prover()(3)).to.deep.equal({ kind: 'archived', checkpoint });
      await expectProven(await prove(10), 10);
    });

    it("detects that the month is archived while it reads the month's records", async () => {
      const checkpoint = await fixture.sealed(9);
      await recordOf(checkpoint.lastSeq);
      await fixture.sealed(0);
      const { checkpoints } = fixture.storage;
      let isFirst = true;
      const records: typeof checkpoints.records = async (...asked) => {
        if (isFirst) leave();
        isFirst = false;
        return checkpoints.records(...asked);
      };
      const outcome = await fixture.prover({ checkpoints: { ...checkpoints, records } })(3);
      expect(outcome).to.deep.equal({ kind: 'archived', checkpoint });
    });

    const others: readonly (readonly [string, (lastSeq: number) => Promise<unknown>])[] = [
      ['nothing', async () => undefined],
      [
        'a row of ledger_archives',
        async (lastSeq) =>
          fixture.withoutTriggers.exec(
            `insert into ledger_archives values ('2026-11', ${atTime('2026-12-01T00:00:00Z')}, 1, 1, 1, 1, ${lastSeq})`,
          ),
      ],
      ['a record that is not sealed', recordOf],
      [
        'a record that was inserted into a sealed range',
        async (lastSeq) => {
          await fixture.sealed(9);
          const { at, detail } = archivingOf(DECEMBER, departedMonth('2026-11', [1, 1], [1, lastSeq]));
          fixture.withoutTriggers
            .prepare("update ledger set ts = ?, event = 'audit.archived', detail = ? where seq = 12")
            .run(at, detail);
        },
      ],
      [
        'a sealed record that names less',
        async () => {
          await fixture.storage.ledger.append(archivingOf(DECEMBER, departedMonth('2026-11')));
          await fixture.sealed(0);
        },
      ],
    ];
    for (const [what, write] of others) {
      it(`gives no proof, and does not say that records were archived, because of ${what}`, async () => {
        const checkpoint = await fixture.sealed(9);
        await write(checkpoint.lastSeq);
        leave();
        expect(await fixture.prover()(3)).to.deep.equal({ kind: 'broken', checkpoint });
      });
    }
  });

  const edits: readonly (readonly [string, string])[] = [
    ['the record was altered', "update ledger set reason = 'altered' where seq = 130"],
    ['its neighbour was altered', "update ledger set scope = 'jira:all' where seq = 131"],
    ['the record was deleted', 'delete from ledger where seq = 130'],
    ['its neighbour was deleted', 'delete from ledger where seq = 129'],
    ['another was inserted', "insert into ledger (seq, ts, event, decision) values (202, 1, 'token.issued', 'allow')"],
    ['the root was replaced', "update checkpoints set root_hash = printf('%064d', 7)"],
    ['the signature was replaced', "update checkpoints set signature = printf('%0128d', 7)"],
    ['the time of sealing was altered', 'update checkpoints set closed_at = closed_at + 1000'],
    ['the size was altered', 'update checkpoints set tree_size = tree_size - 1'],
    ['the size is impossible', 'update checkpoints set tree_size = 1000000000000000'],
  ];
  for (const [what, edit] of edits) {
    it(`fails at once, with and without a cached tree, if ${what}`, async () => {
      await fixture.append(200);
      fixture.skipNumbers(5);
      await fixture.sealed(100);
      const seq = what.startsWith('another') ? 206 : 130;
      const warm = fixture.prover();
      await expectProven(await warm(seq), seq);
      fixture.withoutTriggers.exec(edit);
      expect(await fixture.prover()(seq)).to.have.property('kind', 'broken');
      expect(await warm(seq)).to.have.property('kind', 'broken');
      expect(await warm(seq)).to.have.property('kind', 'broken');
    });
  }

  it('fails for records that were sealed again with a foreign key', async () => {
    await fixture.sealed(100);
    fixture.withoutTriggers.exec("delete from checkpoints; update ledger set reason = 'altered' where seq = 50");
    const stranger = await newKeys();
    await fixture.seal({ signer: { ...stranger.checkpoints, kid: fixture.keys.checkpoints.kid } });
    expect(await fixture.prover()(50)).to.have.property('kind', 'broken');
  });

  it('works after the signing key is no longer published, for an auditor who kept the key', async () => {
    await fixture.append(3);
    await fixture.seal({ signer: (await newKeys()).checkpoints });
    expect(await fixture.prover()(2)).to.have.property('kind', 'proof');
  });

  it('works again as soon as the tampering is undone', async () => {
    await fixture.sealed(200);
    const prove = fixture.prover();
    await expectProven(await prove(150), 150);
    fixture.withoutTriggers.exec("update ledger set reason = 'altered' where seq = 151");
    expect(await prove(150)).to.have.property('kind', 'broken');
    fixture.withoutTriggers.exec('update ledger set reason = null where seq = 151');
    await expectProven(await prove(150), 150);
  });

  it('uses the current numbers of the rows, even if a cached tree has other numbers', async () => {
    await fixture.append(BLOCK_SIZE);
    fixture.skipNumbers(2);
    await fixture.sealed(10);
    const prove = fixture.prover();
    await expectProven(await prove(BLOCK_SIZE + 3), BLOCK_SIZE + 3);
    // The seal covers the order of records, not their numbers.
    fixture.withoutTriggers.exec(`update ledger set seq = ${BLOCK_SIZE + 1} where seq = ${BLOCK_SIZE + 3}`);
    await expectProven(await prove(BLOCK_SIZE + 1), BLOCK_SIZE + 1);
    expect(await prove(BLOCK_SIZE + 3)).to.deep.equal({ kind: 'not_found' });
  });

  it('uses a cached tree, which concurrent proofs share', async () => {
    await fixture.sealed(300);
    const { reads, prove } = counted();
    const outcomes = await Promise.all([1, 70, 140, 300].map(prove));
    expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['proof', 'proof', 'proof', 'proof']);
    for (let seq = 1; seq <= 300; seq += 7) await prove(seq);
    expect(reads()).to.equal(1);
  });

  it('fails within a minute after tampering elsewhere in the checkpoint, however often proofs are requested', async () => {
    await fixture.sealed(300);
    const { reads, prove } = counted();
    await expectProven(await prove(10), 10);
    fixture.withoutTriggers.exec("update ledger set reason = 'altered' where seq = 290");
    fixture.clock.advance(KEPT_SECONDS - 0.001);
    // The cached tree is now read again in the background. This proof does not wait for that.
    expect(await prove(10)).to.have.property('kind', 'proof');
    fixture.clock.advance(0.001);
    expect(await prove(10)).to.have.property('kind', 'broken');
    expect(reads()).to.be.within(2, 3);
  });

  it('reads the tree again in the background once, before the cached tree expires', async () => {
    await fixture.sealed(300);
    const { reads, prove } = counted();
    await prove(10);
    fixture.clock.advance(RENEWED_AFTER_SECONDS - 1);
    await prove(10);
    expect(reads()).to.equal(1);
    fixture.clock.advance(1);
    await Promise.all([prove(10), prove(100), prove(200)]);
    // The cached tree of the first checkpoint is now read again, before the tree of this checkpoint.
    await fixture.sealed(1);
    await expectProven(await prove(301), 301);
    expect(reads()).to.equal(3);
    fixture.clock.advance(RENEWED_AFTER_SECONDS - 1);
    await expectProven(await prove(10), 10);
    expect(reads()).to.equal(3);
  });

  it('reads a tree once for all proofs that wait for it, however many reads come first', async () => {
    const [first, second] = [await fixture.sealed(100), await fixture.sealed(100)];
    const { checkpoints } = fixture.storage;
    const asked: number[] = [];
    let letGo: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const prove = fixture.prover({
      checkpoints: {
        async records(range, after, limit) {
          // Ignores the small reads of single blocks, which every proof makes.
          if (limit > 100) asked.push(range.firstSeq);
          if (range.firstSeq === first.firstSeq) await gate;
          return checkpoints.records(range, after, limit);
        },
      },
    });
    const outcomes = [prove(first.firstSeq)];
    for (let minute = 0; minute < 5; minute += 1) {
      outcomes.push(prove(second.firstSeq + minute));
      await new Promise((resolve) => setTimeout(resolve, 20));
      fixture.clock.advance(KEPT_SECONDS + 1);
    }
    letGo();
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).to.deep.equal(Array(6).fill('proof'));
    expect(asked.filter((seq) => seq === second.firstSeq)).to.have.length(1);
  });

  it('works again after a failed read of the ledger', async () => {
    const checkpoint: Checkpoint = await fixture.sealed(100);
    const { checkpoints } = fixture.storage;
    let away = true;
    const prove = fixture.prover({
      checkpoints: {
        async records(...asked) {
          if (away) throw new Error('away');
          return checkpoints.records(...asked);
        },
      },
    });
    const failed = await Promise.all([5, 6].map((seq) => prove(seq).catch((error: Error) => error.message)));
    expect(failed).to.deep.equal(['away', 'away']);
    away = false;
    expect(await prove(5))
      .to.have.nested.property('proof.checkpoint')
      .deep.equal(checkpoint);
  });
});
