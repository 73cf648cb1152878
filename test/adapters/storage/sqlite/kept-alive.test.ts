import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import { keepAlive } from '../../../../adapters/storage/sqlite/kept-alive.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

describe('a connection that is kept alive', () => {
  /** Weakly, as a collector sees them. */
  function made(): readonly WeakRef<object>[] {
    const connection = new Database(':memory:');
    const refs: WeakRef<object>[] = [new WeakRef(connection)];
    const prepare = connection.prepare.bind(connection);
    connection.prepare = ((source: string) => {
      const statement = prepare(source);
      refs.push(new WeakRef(statement));
      return statement;
    }) as typeof connection.prepare;
    keepAlive(connection);
    connection.prepare('select 1').get();
    connection.pragma('busy_timeout = 0');
    connection.pragma('journal_mode', { simple: true });
    connection.close();
    return refs;
  }

  it('is never collected, nor is a statement of it, even when it is closed', async () => {
    const refs = made();
    expect(refs).to.have.length(4);
    // What a reference was just made to holds until the turn is over.
    await new Promise(setImmediate);
    collect();
    expect(refs.filter((one) => one.deref() === undefined)).to.deep.equal([]);
  });

  it('answers pragmas as the driver does', () => {
    const [own, driver] = [keepAlive(new Database(':memory:')), new Database(':memory:')];
    const asked = [
      ['foreign_keys = on', undefined],
      ['foreign_keys', undefined],
      ['foreign_keys', { simple: true }],
      ['synchronous = full', { simple: true }],
      ['busy_timeout = 0', undefined],
    ] as const;
    for (const [source, options] of asked) {
      expect(own.pragma(source, options), source).to.deep.equal(driver.pragma(source, options));
    }
    own.close();
    driver.close();
  });
});
