/** Finding a number that two records have, as only the owner of the database can make them. */

import { expect } from 'chai';
import { connectOutside, databases, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { startTampering, type Tampering, unkeyLedger } from '../support/ledger/tampering.ts';
import { byLength } from '../support/length.ts';
import type { Storage } from '../support/storage.ts';
import { sealed } from './minimal-sealer.ts';
import { anEntry } from './storage-fixtures.ts';

const SEALED = 6;
const NEWEST = 9;

/** The numbers that records are added with, and what is found. */
const ADDED: readonly (readonly [title: string, seqs: readonly number[], found: number])[] = [
  ['the first number', [1], 1],
  ['a sealed number in the middle', [3], 3],
  ['the last sealed number', [SEALED], SEALED],
  ['the first unsealed number', [SEALED + 1], SEALED + 1],
  ['the newest number', [NEWEST], NEWEST],
  ['three records of one number', [3, 3], 3],
  ['two sealed numbers, of which it names the lower', [4, 2], 2],
  ['a sealed and an unsealed number, of which it names what stops the sealing', [2, NEWEST, 8], 8],
];

for (const database of databases) {
  describe(`finding a number that two records of ${database.name} have`, () => {
    const isPostgres = database.engine === 'postgres';
    let fresh: FreshDatabase;
    let storage: Storage;
    let owner: OutsideConnection;
    let tampering: Tampering;
    let month: string;

    before(async () => {
      fresh = await database.fresh();
      storage = await fresh.open({ clock: { now: () => NOON } });
      owner = await connectOutside(fresh, 'owner');
      const append = () => storage.ledger.append(anEntry('admin.denied', { at: NOON }));
      for (let nth = 0; nth < SEALED; nth += 1) await append();
      await sealed(storage.checkpoints);
      for (let nth = SEALED; nth < NEWEST; nth += 1) await append();
      tampering = await startTampering(owner, database.engine);
      if (isPostgres) {
        const [of] = await owner.sql('select tableoid::regclass::text as name from ledger limit 1');
        month = String(of?.name);
      }
    });
    after(async () => {
      await owner.close();
      await storage.close();
      await fresh.drop();
    });
    afterEach(async () => {
      await tampering.sql("delete from ledger where sponsor = 'eve'");
      expect(await storage.checkpoints.usedTwice()).to.equal(undefined);
    });

    /** Adds a record that is this many months later than the first, and some milliseconds. */
    const insert = async (seq: number, months: number, nth: number) => {
      const ts = isPostgres
        ? `min(ts) + interval '${months} months ${nth + 1} milliseconds'`
        : `min(ts) + ${nth + 1} * 1000`;
      await owner.sql(
        `insert into ledger (seq, ts, event, sponsor, decision) select ${seq}, ${ts}, 'token.issued', 'eve', 'allow' from ledger`,
      );
    };
    const found = (seq: number) => ({ seq, isSealed: seq <= SEALED });

    let isFirst = true;

    /**
     * Tries all numbers in the first place, and at full length in every one. Otherwise a sealed and an unsealed one.
     * @param months that the added records are later, in turn
     */
    function names(where: string, months: readonly number[]): void {
      const some = isFirst ? ADDED : ADDED.slice(-1);
      isFirst = false;
      for (const [title, seqs, seq] of byLength({ short: some, full: ADDED })) {
        it(`names ${title}, ${where}`, async () => {
          for (const [nth, added] of seqs.entries()) await insert(added, months[nth % months.length] ?? 0, nth);
          expect(await storage.checkpoints.usedTwice()).to.deep.equal(found(seq));
        });
      }
    }

    it('finds none in a ledger that the service wrote', async () => {
      expect(await storage.checkpoints.usedTwice()).to.equal(undefined);
    });

    if (isPostgres) {
      names('in other months', [1, 2]);
      names('in other months, the later one first', [2, 1]);

      it('finds none where the numbers of two months overlap', async () => {
        for (const [nth, seq] of [20, 22, 24].entries()) await insert(seq, 1, nth);
        for (const [nth, seq] of [21, 23, 25].entries()) await insert(seq, nth === 1 ? 2 : 0, nth);
        expect(await storage.checkpoints.usedTwice()).to.equal(undefined);
      });

      for (const bounds of ['default', "for values from ('2040-01-01Z') to (maxvalue)"]) {
        it(`names it in a partition that no migration makes, with and without an index: ${bounds}`, async () => {
          await owner.sql(`create table ledger_other partition of ledger ${bounds}`);
          await insert(2, 12 * 40, 0);
          expect(await storage.checkpoints.usedTwice()).to.deep.equal(found(2));
          await owner.sql('create unique index other on ledger_other (seq)');
          expect(await storage.checkpoints.usedTwice()).to.deep.equal(found(2));
          await owner.sql('drop table ledger_other');
        });
      }

      describe('in a month without its index', () => {
        before(() => owner.sql(`drop index ${month}_by_seq`));
        after(() => owner.sql(`create unique index ${month}_by_seq on ${month} (seq)`));
        names('in the same month', [0]);
        names('in the same month and another one', [0, 1]);

        for (const index of [
          'unique index other on % (seq, ts)',
          'unique index other on % (seq) where seq > 5',
          'unique index other on % ((case when sponsor is null then seq else -seq end))',
          'index other on % (seq)',
        ]) {
          it(`names it, although there is another one: ${index}`, async () => {
            await owner.sql(`create ${index.replace('%', month)}`);
            await insert(3, 0, 0);
            expect(await storage.checkpoints.usedTwice()).to.deep.equal(found(3));
            await owner.sql('drop index other');
          });
        }
      });
    } else {
      for (const key of ['primary key (seq, ts)', undefined]) {
        describe(`in a table that was rebuilt with ${key ?? 'no key'}`, () => {
          before(() => unkeyLedger(owner, key));
          names('in the table', [0]);
        });
      }
    }
  });
}
