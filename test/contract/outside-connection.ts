/** A test's own SQL connection. With it a test delays decisions, makes writes fail and reads every table. */

import { expect } from 'chai';
import type { OutsideConnection } from '../support/databases.ts';
import { lockAppends } from './append-lock.ts';
import { allRows, whileWritesFail } from './failing-writes.ts';
import type { SuiteDatabase } from './on-every-database.ts';

/** Opens a connection for each test of the suite. */
export function outsideConnection({ database, kind }: SuiteDatabase) {
  let connection: OutsideConnection | undefined;
  beforeEach(async () => {
    connection = await database().outside?.();
  });
  afterEach(() => connection?.close());

  function outside(): OutsideConnection {
    if (connection === undefined) throw new Error('this database cannot be reached from outside');
    return connection;
  }

  /** Starts the second decision once the first holds its locks, so that the second waits for the first. */
  async function secondWaitsForFirst<One, Other>(
    first: () => Promise<One>,
    second: () => Promise<Other>,
  ): Promise<readonly [One, Other]> {
    const lock = await lockAppends(kind, outside());
    const one = first();
    await lock.untilWaiting(1);
    const other = second();
    await lock.untilBlocked(2);
    await lock.release();
    return [await one, await other];
  }

  /** Expects that the decision throws if the write fails, and that it changes no table. */
  async function expectRollback(fault: Parameters<typeof whileWritesFail>[2], decide: () => Promise<unknown>) {
    const before = await allRows(outside());
    const outcome = await whileWritesFail(kind, outside(), fault, () => decide().catch((error: unknown) => error));
    expect(outcome).to.be.instanceOf(Error);
    expect(await allRows(outside())).to.deep.equal(before);
  }

  return { outside, secondWaitsForFirst, expectRollback };
}
