/** For a suite that reaches the database beside the service: to hold decisions, to let writes fail, to read each table. */

import { expect } from 'chai';
import type { Outside } from '../support/databases.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends } from './hold.ts';
import type { Stage } from './on-every-database.ts';

/** Opens a connection for each test of the suite that calls it. */
export function fromOutside({ database, kind }: Stage) {
  let connection: Outside | undefined;
  beforeEach(async () => {
    connection = await database().outside?.();
  });
  afterEach(() => connection?.close());

  function outside(): Outside {
    if (connection === undefined) throw new Error('this database cannot be reached from outside');
    return connection;
  }

  /** The second decision begins once the first holds its locks. On Postgres each waits for a lock before both go on. */
  async function inTurn<One, Other>(
    first: () => Promise<One>,
    second: () => Promise<Other>,
  ): Promise<readonly [One, Other]> {
    const hold = await holdAppends(kind, outside());
    const one = first();
    await hold.waiting(1);
    const other = second();
    await hold.blocked(2);
    await hold.release();
    return [await one, await other];
  }

  /** Expects that the decision fails with the write, and leaves each table as it was. */
  async function expectRollback(fault: Parameters<typeof whileFailing>[2], decide: () => Promise<unknown>) {
    const before = await contentsOf(outside());
    const outcome = await whileFailing(kind, outside(), fault, () => decide().catch((error: unknown) => error));
    expect(outcome).to.be.instanceOf(Error);
    expect(await contentsOf(outside())).to.deep.equal(before);
  }

  return { outside, inTurn, expectRollback };
}
