import { expect } from 'chai';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { faultOf, type LedgerFixture, ledgerFixture, sealSome } from '../../support/ledger-fixture.ts';

describe('verifying the ledger', () => {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await ledgerFixture();
  });
  afterEach(() => fixture.close());

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
      const [, second] = await sealSome(fixture, 4);
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
      const [, second] = await sealSome(fixture, 4);
      fixture.withoutTriggers.exec("update ledger set reason = 'x' where seq = 7");
      expect(faultOf(await fixture.verify(archived(second)))).to.deep.equal({ kind: 'root_mismatch', checkpointId: 2 });
      fixture.withoutTriggers.exec("insert into ledger (seq, ts, event, decision) values (8, 1, 'x', 'allow')");
      expect(faultOf(await fixture.verify(archived(second)))).to.have.property('kind', 'tree_size');
    });

    it('detects that a month is archived during the verification', async () => {
      const [, second] = await sealSome(fixture, 4);
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
      const [, second] = await sealSome(fixture, 2);
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
});
