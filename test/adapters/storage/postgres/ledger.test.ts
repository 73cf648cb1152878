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

/** An append as a service makes it, in a transaction that stays open. */
const appendAt = (seconds: number, detail: string) => {
  const at = toMicrosecondText(plusSeconds(NOON, seconds));
  return appendsEntries(`'${JSON.stringify([{ at, event: 'admin.denied', detail }])}'`);
};

describe('paging while an append is under way, on Postgres', () => {
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

  it('waits for it before it promises that nothing will come before the next page', async () => {
    const reading = page(7);
    await untilWaiting(observer, 1);
    await writer.sql('commit');
    expect(await details(reading)).to.deep.equal(['1', '2', '3', '4']);
  });

  it('reads as much as a page again when it comes to nothing', async () => {
    const reading = page(7);
    await untilWaiting(observer, 1);
    await writer.sql('rollback');
    expect(await details(reading)).to.deep.equal(['1', '2', '4', '5']);
  });

  it('does not wait for the last page, which promises nothing', async () => {
    expect(await details(page(7, 5))).to.deep.equal(['1', '2', '4', '5', '6']);
    expect((await page(7, 5)).next).to.equal(undefined);
  });

  it('waits however old the page is for an append whose beginning it may not see', async () => {
    const reading = page(3_600);
    await untilWaiting(observer, 1);
    await writer.sql('commit');
    expect(await details(reading)).to.deep.equal(['1', '2', '3', '4']);
  });

  it('does not wait for a young append when the page is old', async () => {
    await writer.sql('rollback');
    const serving = await database.outside?.('serving');
    await serving?.sql('begin');
    await serving?.sql(appendAt(3_599, 'young'));
    expect(await details(page(3_600))).to.deep.equal(['1', '2', '4', '5']);
    await serving?.close();
  });

  it('says that the database cannot answer when the append does not end', async () => {
    const inEarnest = await database.open({ limits: LIMITS });
    const thrown = await page(7, 4, inEarnest).catch((error: unknown) => error);
    await inEarnest.close();
    expect(thrown).to.be.instanceOf(StorageUnavailable);
  });

  it('finds the record of a decision that took long where the page has not been read yet', async () => {
    // It takes more than a second, and is dated sixty and a half before what others have recorded meanwhile.
    await writer.sql('select pg_sleep(1.1)');
    await append(63.5);
    await writer.sql(appendAt(3, 'long'));
    await writer.sql('commit');
    expect(await details(page(64, 9))).to.deep.equal(['1', '2', '3', '4', '5', '6', '63.5', 'long']);
  });

  it('holds appends up only for as long as it waits itself', async () => {
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
