/** The ledger's sequence returns to numbers that records already have, as after a failover that copies no sequences. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { SETVAL } from '../../../../adapters/storage/postgres/faults.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { untilBlocked } from '../../../contract/append-lock.ts';
import { faultsOf, sealed } from '../../../contract/minimal-sealer.ts';
import { anEntry, ledgerOf, openedTask } from '../../../contract/storage-fixtures.ts';
import { type CapturedLog, capturedLog } from '../../../support/captured-log.ts';
import {
  appendsEntries,
  connectOutside,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
} from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import type { Storage } from '../../../support/storage.ts';
import { errorOf } from '../../../support/thrown-by.ts';

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

  let passed = 0;
  /** By default each record has another time, because the primary key has the time beside the number. */
  const append = (seconds = ++passed) =>
    storage.ledger.append(anEntry('admin.denied', { at: plusSeconds(NOON, seconds) }));
  const setBack = (to: number) => owner.sql(`select setval('ledger_seq', ${to})`);
  const expectUnavailable = async (asked: Promise<unknown>) => {
    expect(await asked.catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    const said = {
      level: 'error',
      message:
        'the sequence ledger_seq was set back below numbers that are taken: records are refused, and nothing is sealed',
    };
    const line = JSON.parse(log.lines.at(-1) ?? '{}');
    expect(line).to.include(said);
    expect(line.remedy).to.match(/^select pg_catalog\.setval\('ledger_seq', /);
    log.lines.length = 0;
  };

  it('appends no record with a sealed number, with or without a sink', async () => {
    const before = await ledgerOf(storage);
    for (const queueing of [false, true]) {
      await storage.outbox.setQueueing(queueing);
      // The new record has the date of the sealed record with that number, or another date.
      for (const seconds of [1, 3_600]) {
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

  /** Records 11 to 15 are not sealed. */
  const appendUnsealed = async () => {
    for (let nth = 0; nth < 5; nth++) await append();
  };
  const numbers = async () => (await owner.sql('select seq from ledger order by seq')).map(({ seq }) => Number(seq));
  const expectEachOnce = async () => {
    const seqs = await numbers();
    expect(new Set(seqs).size).to.equal(seqs.length);
    await sealed(storage.checkpoints);
    expect(await faultsOf(storage.checkpoints)).to.deep.equal([]);
  };

  for (const to of [1, 5, 9, 10, 13]) {
    it(`appends no record with the number of an unsealed record either, and ends by itself behind the newest: ${to}`, async () => {
      await appendUnsealed();
      await setBack(to);
      for (let number = to + 1; number <= 15; number++) {
        expect((await storage.readiness.check()).detail).to.include('was set back below numbers that are taken');
        await expectUnavailable(append());
      }
      expect((await storage.readiness.check()).status).to.equal('Healthy');
      await append();
      expect((await numbers()).at(-1)).to.equal(16);
      await expectEachOnce();
    });
  }

  it('appends none of several records, if one of their numbers is taken, also by a record of another month', async () => {
    const serving = await connectOutside(database, 'serving');
    const later = plusSeconds(NOON, 40 * 24 * 60 * 60);
    const several = [1, 2, 3].map(() => ({ at: toMicrosecondText(later), event: 'admin.denied', decision: 'allow' }));
    const appendLater = () => serving.sql(appendsEntries(`'${JSON.stringify(several)}'`));
    try {
      await appendUnsealed();
      for (const to of [10, 12, 14]) {
        await setBack(to);
        const thrown = await errorOf(appendLater);
        expect(thrown).to.be.instanceOf(Error).with.property('code', '55000');
      }
      expect(await owner.sql('select from ledger')).to.have.length(15);
      await setBack(15);
      await appendLater();
      await expectEachOnce();
    } finally {
      await serving.close();
    }
  });

  for (const end of ['commit', 'rollback'] as const) {
    it(`waits for an append under way that has the number, and is refused only after its commit: ${end}`, async () => {
      const underWay = await connectOutside(database, 'serving');
      try {
        await underWay.sql('begin');
        await underWay.sql(appendsEntries(`'[{"at": "${toMicrosecondText(NOON)}", "event": "admin.denied"}]'`));
        // As the remedy does, if it runs while appends are under way.
        await setBack(10);
        const appended = errorOf(() => append());
        await untilBlocked(owner, 1);
        await underWay.sql(end);
        if (end === 'commit') await expectUnavailable(Promise.reject(await appended));
        else expect(await appended).to.equal(undefined);
        expect((await numbers()).slice(10)).to.deep.equal([11]);
        await append();
        await expectEachOnce();
      } finally {
        await underWay.close();
      }
    });
  }

  it('has a remedy that does not set it back below the number of an append under way, whose record is of another month', async () => {
    const underWay = await connectOutside(database, 'serving');
    try {
      const later = toMicrosecondText(plusSeconds(NOON, 40 * 24 * 60 * 60));
      await underWay.sql('begin');
      await underWay.sql(appendsEntries(`'[{"at": "${later}", "event": "admin.denied"}]'`));
      // No index has the numbers of both months.
      await owner.sql(SETVAL);
      await append();
      await underWay.sql('commit');
      expect((await numbers()).slice(10)).to.deep.equal([11, 12]);
      await expectEachOnce();
    } finally {
      await underWay.close();
    }
  });

  it('takes a number below the newest that no record has: concurrent appends may be committed in any order', async () => {
    const underWay = await connectOutside(database, 'serving');
    try {
      await underWay.sql('begin');
      await underWay.sql(appendsEntries(`'[{"at": "${toMicrosecondText(NOON)}", "event": "admin.denied"}]'`));
      await append();
      await underWay.sql('commit');
      await expectEachOnce();
      // Numbers 13 to 15 were rolled back.
      await setBack(15);
      await append();
      await setBack(12);
      for (let nth = 0; nth < 3; nth++) await append();
      await expectUnavailable(append());
      await append();
      expect((await numbers()).slice(10)).to.deep.equal([11, 12, 13, 14, 15, 16, 17]);
      await expectEachOnce();
    } finally {
      await underWay.close();
    }
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
      /^The sequence ledger_seq was set back below numbers that are taken, so records are refused, and nothing is sealed;/,
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
