/** The ledger's sequence returns to numbers that records already have, as after a failover that copies no sequences. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import { faultsOf, sealed } from '../../../contract/minimal-sealer.ts';
import { anEntry, ledgerOf, openedTask } from '../../../contract/storage-fixtures.ts';
import { type CapturedLog, capturedLog } from '../../../support/captured-log.ts';
import { type FreshDatabase, freshDatabase, type OutsideConnection } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import type { Storage } from '../../../support/storage.ts';

describe('a ledger whose sequence was set back, on Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  let owner: OutsideConnection;
  let log: CapturedLog;

  beforeEach(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    log = capturedLog();
    storage = await database.open({ log, clock: { now: () => NOON } });
    if (database.outside === undefined) throw new Error('Postgres cannot be reached from outside');
    owner = await database.outside('owner');
    for (let nth = 0; nth < 10; nth++) await append();
    await sealed(storage.checkpoints);
  });
  afterEach(async () => {
    await owner.close();
    await storage.close();
    await database.drop();
  });

  const append = (seconds = 0) => storage.ledger.append(anEntry('admin.denied', { at: plusSeconds(NOON, seconds) }));
  const setBack = (to: number) => owner.sql(`select setval('ledger_seq', ${to})`);
  const expectUnavailable = async (asked: Promise<unknown>) => {
    expect(await asked.catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    const said = {
      level: 'error',
      message: 'the sequence ledger_seq was set back below numbers that are taken: nothing is recorded or sealed',
    };
    expect(JSON.parse(log.lines.at(-1) ?? '{}')).to.include(said);
    log.lines.length = 0;
  };

  it('appends no record with a sealed number, with or without a sink', async () => {
    const before = await ledgerOf(storage);
    for (const queueing of [false, true]) {
      await storage.outbox.setQueueing(queueing);
      // The new record has the date of the sealed record with that number, or another date.
      for (const seconds of [0, 3_600]) {
        await setBack(3);
        await expectUnavailable(append(seconds));
        await setBack(9);
        await expectUnavailable(append(seconds));
      }
    }
    expect(await ledgerOf(storage)).to.deep.equal(before);
    // The next append gets the first number after the sealed range.
    await append();
    expect((await ledgerOf(storage)).at(-1)?.seq).to.equal(11);
  });

  it('ends no tasks, because their records could not be appended', async () => {
    await storage.outbox.setQueueing(true);
    const { task } = await openedTask(storage);
    await sealed(storage.checkpoints);
    await setBack(2);
    const revocation = { at: plusSeconds(NOON, 60), reason: 'operator_kill_switch' } as const;
    await expectUnavailable(storage.tasks.end({ kind: 'task', taskId: task.taskId }, revocation));
    expect(await owner.sql(`select state from tasks where task_id = '${task.taskId}'`)).to.deep.equal([
      { state: 'live' },
    ]);
  });

  it('seals nothing while the sequence is below an unsealed record, because a number would be used twice', async () => {
    for (let nth = 0; nth < 4; nth++) await append();
    await setBack(12);
    await expectUnavailable(storage.checkpoints.unsealed());
    await setBack(13);
    await expectUnavailable(storage.checkpoints.unsealed());
    await setBack(14);
    expect(await storage.checkpoints.unsealed()).to.include({ firstSeq: 11, lastSeq: 14 });
  });

  it('is not ready, names the remedy, and works again after the remedy', async () => {
    await owner.sql("select setval('ledger_seq', 1, false)");
    const { status, detail } = await storage.readiness.check();
    expect(status).to.equal('Unhealthy');
    expect(detail).to.match(
      /^The sequence ledger_seq was set back below numbers that are taken, so nothing is recorded;/,
    );
    const remedy = /`(.*)`/.exec(detail ?? '')?.[1] ?? '';
    const page = readFileSync(new URL('../../../../docs/auditing.md', import.meta.url), 'utf8');
    expect(page.replaceAll(/\s+/g, ' ')).to.include(`\`${remedy}\``);
    await expectUnavailable(append());
    expect(await owner.sql(remedy)).to.deep.equal([{ setval: '10' }]);
    expect((await storage.readiness.check()).status).to.equal('Healthy');
    await append();
    await sealed(storage.checkpoints);
    expect(await faultsOf(storage.checkpoints)).to.deep.equal([]);
  });

  it('is ready if numbers were skipped, and in a new database before and after its first record', async () => {
    await setBack(10_000);
    expect((await storage.readiness.check()).status).to.equal('Healthy');
    const empty = await freshDatabase('postgres');
    const other = await empty.open({ clock: { now: () => NOON } });
    expect((await other.readiness.check()).status).to.equal('Healthy');
    expect(await other.checkpoints.unsealed()).to.equal(undefined);
    await other.ledger.append(anEntry('admin.denied'));
    expect((await other.readiness.check()).status).to.equal('Healthy');
    await other.close();
    await empty.drop();
  });
});
