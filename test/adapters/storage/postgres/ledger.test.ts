import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { LIMITS } from '../../../../adapters/storage/postgres/limits.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { untilWaiting } from '../../../contract/append-lock.ts';
import { anEntry } from '../../../contract/storage-fixtures.ts';
import {
  appendsEntries,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
} from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import type { Storage } from '../../../support/storage.ts';

/** The SQL of an append by the service, for a transaction that the test keeps open. */
const appendAt = (seconds: number, detail: string) => {
  const at = toMicrosecondText(plusSeconds(NOON, seconds));
  return appendsEntries(`'${JSON.stringify([{ at, event: 'admin.denied', detail }])}'`);
};

describe('a page of the ledger during an open append, on Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  let writer: OutsideConnection;
  let observer: OutsideConnection;

  beforeEach(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    storage = await database.open();
    if (database.outside === undefined) throw new Error('Postgres cannot be reached from outside');
    writer = await database.outside('owner');
    observer = await database.outside('superuser');
    for (const second of [1, 2]) await append(second);
    await writer.sql('begin');
    await writer.sql(appendAt(3, '3'));
    for (const second of [4, 5, 6]) await append(second);
  });

  afterEach(async () => {
    await writer.close();
    await observer.close();
    await storage.close();
    await database.drop();
  });

  const append = (second: number) =>
    storage.ledger.append(anEntry('admin.denied', { at: plusSeconds(NOON, second), detail: String(second) }));
  const page = (now: number, limit = 4, of = storage) => of.ledger.page({ limit, now: plusSeconds(NOON, now) });
  const details = async (reading: ReturnType<typeof page>) => (await reading).records.map((record) => record.detail);

  it('waits for the append, so that no record can appear before the next page', async () => {
    const reading = page(7);
    await untilWaiting(observer, 1);
    await writer.sql('commit');
    expect(await details(reading)).to.deep.equal(['1', '2', '3', '4']);
  });

  it('is full if the append is rolled back', async () => {
    const reading = page(7);
    await untilWaiting(observer, 1);
    await writer.sql('rollback');
    expect(await details(reading)).to.deep.equal(['1', '2', '4', '5']);
  });

  it('does not wait if it is the last page', async () => {
    expect(await details(page(7, 5))).to.deep.equal(['1', '2', '4', '5', '6']);
    expect((await page(7, 5)).next).to.equal(undefined);
  });

  it('waits, even for old records, if the role may not see when the append began', async () => {
    const reading = page(3_600);
    await untilWaiting(observer, 1);
    await writer.sql('commit');
    expect(await details(reading)).to.deep.equal(['1', '2', '3', '4']);
  });

  it('does not wait if its records are much older than the append', async () => {
    await writer.sql('rollback');
    const serving = await database.outside?.('serving');
    await serving?.sql('begin');
    await serving?.sql(appendAt(3_599, 'young'));
    expect(await details(page(3_600))).to.deep.equal(['1', '2', '4', '5']);
    await serving?.close();
  });

  it('throws StorageUnavailable if the append does not end', async () => {
    const withRealLimits = await database.open({ limits: LIMITS });
    const thrown = await page(7, 4, withRealLimits).catch((error: unknown) => error);
    await withRealLimits.close();
    expect(thrown).to.be.instanceOf(StorageUnavailable);
  });

  it('has the record of a slow decision after all records that were appended before it', async () => {
    // The append takes more than a second. Its date is 60.5 s before that of a record appended in between.
    await writer.sql('select pg_sleep(1.1)');
    await append(63.5);
    await writer.sql(appendAt(3, 'long'));
    await writer.sql('commit');
    expect(await details(page(64, 9))).to.deep.equal(['1', '2', '3', '4', '5', '6', '63.5', 'long']);
  });

  it('blocks later appends only while it waits for the open append', async () => {
    const reading = page(7);
    await untilWaiting(observer, 1);
    const appending = append(8);
    await untilWaiting(observer, 2);
    const first = await Promise.race([appending.then(() => 'appended'), pause(20, 'waiting')]);
    expect(first).to.equal('waiting');
    await writer.sql('commit');
    await appending;
    expect(await details(reading)).to.deep.equal(['1', '2', '3', '4']);
  });
});
