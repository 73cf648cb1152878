import { expect } from 'chai';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { exportRecords } from '../../../application/ledger/export-records.ts';
import { databasesByLength, type FreshDatabase } from '../../support/databases.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { append, seal } from '../../support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../../support/ledger/sealing-key.ts';
import type { Storage } from '../../support/storage.ts';

/** Fills more than one page. */
const RECORDS = 1_003;

for (const kind of databasesByLength) {
  describe(`The export of records on ${kind.name}`, function () {
    this.timeout(60_000);
    let key: SealingKey;
    let database: FreshDatabase;
    let storage: Storage;

    before(async () => {
      key = await makeSealingKey();
      database = await kind.fresh();
      storage = await database.open({ clock: { now: () => NOON } });
      await append(storage, RECORDS, NOON);
      await seal(storage, key.signer, NOON);
    });
    after(async () => {
      await storage.close();
      await database.drop();
    });

    /** @param takes the reader stops after this many pages */
    async function exported(after: number, takes = Number.POSITIVE_INFINITY): Promise<readonly number[]> {
      const seqs: number[] = [];
      let taken = 0;
      const write = async (records: readonly { readonly seq: number }[]) => {
        if (taken === takes) throw new Error('gone');
        taken += 1;
        seqs.push(...records.map(({ seq }) => seq));
      };
      await exportRecords({ ledger: storage.checkpoints, archivedPart, turn: eventLoopTurn, write }, after).catch(
        (error) => {
          if (error.message !== 'gone') throw error;
        },
      );
      return seqs;
    }

    const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

    it('passes on every sealed record once, in the order of the sequence numbers', async () => {
      expect(await exported(0)).to.deep.equal(upTo(RECORDS));
    });

    it('continues after any sequence number, also one at which an earlier reader stopped', async () => {
      for (const after of [1, 500, 1_000, RECORDS - 1]) {
        expect(await exported(after), String(after)).to.deep.equal(upTo(RECORDS, after + 1));
      }
      const first = await exported(0, 1);
      expect([...first, ...(await exported(first.at(-1) ?? 0))]).to.deep.equal(upTo(RECORDS));
      expect(first).not.to.have.length(RECORDS);
    });

    it('passes on nothing after the last sequence number', async () => {
      expect(await exported(RECORDS)).to.deep.equal([]);
    });

    it('refuses to continue after a number that no sealed record has, as in a restored backup', async () => {
      const outcome = (after: number) =>
        exportRecords(
          {
            ledger: storage.checkpoints,
            archivedPart,
            turn: eventLoopTurn,
            write: async () => expect.fail('it writes nothing'),
          },
          after,
        );
      for (const after of [RECORDS + 1, 4711, Number.MAX_SAFE_INTEGER - 1]) {
        expect(await outcome(after), String(after)).to.deep.equal({ kind: 'unknown_position' });
      }
      expect(await outcome(RECORDS)).to.deep.equal({ kind: 'whole' });
    });

    // An append with a lower number may still commit before an unsealed record. An export that passed it would skip it.
    it('stops before the first unsealed record, and continues there once it is sealed', async () => {
      await append(storage, 2, NOON, RECORDS);
      expect(await exported(RECORDS - 1)).to.deep.equal([RECORDS]);
      await seal(storage, key.signer, NOON);
      expect(await exported(RECORDS)).to.deep.equal([RECORDS + 1, RECORDS + 2]);
    });
  });
}

/** Nothing was archived. */
async function archivedPart() {
  return undefined;
}

describe('The export of records', () => {
  it('returns the last sequence number that the archive removed, because records up to it may be missing', async () => {
    const ledger = {
      records: async () => [],
      sealing: async () => ({ kind: 'sealed' }) as never,
    };
    const through = (after: number) =>
      exportRecords(
        {
          ledger,
          archivedPart: async () => ({ lastSeq: 40 }) as never,
          turn: eventLoopTurn,
          write: async () => undefined,
        },
        after,
      );
    expect(await through(0)).to.deep.equal({ kind: 'archived', through: 40 });
    expect(await through(39)).to.deep.equal({ kind: 'archived', through: 40 });
    expect(await through(40)).to.deep.equal({ kind: 'whole' });
  });
});
