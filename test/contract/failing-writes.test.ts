/**
 * Each decision is one transaction: if the database refuses any of its writes, or passes over its records without an error,
 * the decision fails and changes nothing.
 */

import { expect } from 'chai';
import { catalogue } from '../../application/decisions/catalogue.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { connectOutside, type OutsideConnection } from '../support/databases.ts';
import { byLength } from '../support/length.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { everyDecision } from './every-decision.ts';
import {
  allRows,
  CHANGED,
  deleteEarlierRows,
  type Fault,
  type Rows,
  whileWritesFail,
  writesBetween,
} from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { aWorld, store } from './world.ts';

describe('The decisions of the matrices', () => {
  it('are all decisions of the catalogue', () => {
    const used = new Set(Object.values(everyDecision).map(({ decision }) => decision.name));
    expect(used).to.deep.equal(new Set(catalogue.map(({ name }) => name)));
  });
});

onEveryDatabase('a decision whose write fails', ({ storage, database, kind }) => {
  const written = new Set<string>();
  const tried = new Set<string>();
  /** Each write of each decision. Otherwise, on Postgres, each write once: on both engines all decisions run in the same way. */
  const isWhole = byLength({ short: kind.engine === 'sqlite', full: true });
  let sql: OutsideConnection;
  before(async () => {
    await storage().outbox.setQueueing(true);
    sql = await connectOutside(database());
  });
  beforeEach(() => deleteEarlierRows(sql));
  after(() => sql.close());

  for (const [title, { decision, parts, input }] of Object.entries(everyDecision)) {
    it(`changes nothing, whichever write it is: ${title}`, async () => {
      const prepared = async () => {
        const world = aWorld();
        await store(storage(), world, sql, parts);
        const decide = () => storage().decide(decision, input(world));
        return { decide, before: await allRows(sql), anonymous: world.anonymous };
      };
      const first = await prepared();
      const verdict = first.anonymous(await first.decide());
      const writes = writesBetween(first.before, await allRows(sql));
      for (const { table } of writes) written.add(table);
      const swallowed: readonly Fault[] = writes.some(({ table }) => table === 'ledger')
        ? [{ table: 'ledger', swallowed: true }]
        : [];
      for (const fault of [...writes, ...swallowed]) {
        const what = `${decision.name} ${JSON.stringify(fault)}`;
        const once = isWhole ? what : JSON.stringify(fault);
        if (tried.has(once)) continue;
        tried.add(once);
        const { decide, before, anonymous } = await prepared();
        const failure = await whileWritesFail(kind, sql, fault, () => thrownBy(decide()));
        expect(failure, what).to.be.instanceOf(fault.swallowed ? StorageUnavailable : Error);
        expectSame(await allRows(sql), before, what);
        expect(anonymous(await decide()), `${what}: the same decision afterwards`).to.equal(verdict);
      }
    });
  }

  it('write to every table', () => {
    expect(written).to.deep.equal(new Set(Object.keys(CHANGED)));
  });
});

function expectSame(after: Rows, before: Rows, what: string): void {
  // Deep equality of chai takes most of the time of this file.
  for (const table of Object.keys(CHANGED)) {
    expect(JSON.stringify(after[table]), `${what}: ${table}`).to.equal(JSON.stringify(before[table]));
  }
}
