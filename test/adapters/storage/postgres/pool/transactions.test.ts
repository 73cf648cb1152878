import { expect } from 'chai';
import { LIMITS, type Limits } from '../../../../../adapters/storage/postgres/limits.ts';
import { LOCK } from '../../../../../adapters/storage/postgres/locks.ts';
import { type Connections, openConnections } from '../../../../../adapters/storage/postgres/pool/pool.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { plusSeconds } from '../../../../../domain/instant.ts';
import { anEntry, anOpening, ledgerOf, registeredAgent } from '../../../../contract/storage-fixtures.ts';
import { barrier } from '../../../../support/barrier.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { connectOutside, type FreshDatabase, freshDatabase, TENFOLD_LIMITS } from '../../../../support/databases.ts';
import { NOON } from '../../../../support/domain-fixtures.ts';
import type { Storage } from '../../../../support/storage.ts';
import { errorOf } from '../../../../support/thrown-by.ts';

describe('connections to Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    storage = await database.open({ limits: LIMITS });
  });
  after(async () => {
    await storage.close();
    await database.drop();
  });

  /** Opens connections with long limits, some of which `short` replaces. */
  const connect = (poolSize: number, short: Partial<Limits> = {}) =>
    openConnections(
      {
        connectionString: String(database.settings['Service:Database:ConnectionString']),
        poolSize,
        limits: { ...TENFOLD_LIMITS.serving, ...short },
      },
      capturedLog(),
    );
  const using = async (connections: Connections, work: (connections: Connections) => Promise<void>) => {
    try {
      await work(connections);
    } finally {
      await connections.close();
    }
  };
  const sleep = (seconds: number) => ({ name: `sleep_${seconds}`, text: `select pg_sleep(${seconds})` });

  it('throw StorageUnavailable if no connection is free in time', () =>
    using(connect(1, { acquire: 300 }), async ({ run }) => {
      const held = errorOf(() => run(sleep(0.29)));
      const late = await Promise.all([1, 2, 3].map(() => errorOf(() => run(sleep(0.29)))));
      await held;
      expect(late.some((thrown) => thrown instanceof StorageUnavailable)).to.equal(true);
    }));

  it('end a statement that takes too long, and are used again', () =>
    using(connect(1, { statement: 1_000 }), async ({ run }) => {
      expect(await errorOf(() => run(sleep(5)))).to.be.instanceOf(StorageUnavailable);
      expect((await run({ name: 'one', text: 'select 1 as one' })).rows).to.deep.equal([{ one: 1 }]);
    }));

  it('roll back a transaction whose work fails, and reuse its connection without leftovers', () =>
    using(connect(1), async ({ transact, run }) => {
      const insert = {
        name: 'insert',
        text: "insert into sponsor_blocks values ('rolled-back', 'admin', 'disabled', now(), now()) returning 1",
      };
      const failing = () =>
        transact(async (run) => {
          await run(insert);
          throw new Error('our own');
        });
      expect(String(await errorOf(failing))).to.include('our own');
      const { count } = await run({
        name: 'find',
        text: "select from sponsor_blocks where sponsor_key = 'rolled-back'",
      });
      expect(count).to.equal(0);
    }));

  it('fail a transaction whose commit Postgres answers with ROLLBACK, although its work succeeded', () =>
    using(connect(1), async ({ transact, run }) => {
      const insert = {
        name: 'insert_aborted',
        text: "insert into sponsor_blocks values ('aborted', 'admin', 'disabled', now(), now())",
      };
      const ignoring = () =>
        transact(async (run) => {
          await run(insert);
          await errorOf(() => run({ name: 'fails', text: 'select 1/0' }));
          return 'stored';
        });
      expect(String(await errorOf(ignoring))).to.include('the transaction was rolled back');
      const { count } = await run({
        name: 'find_aborted',
        text: "select from sponsor_blocks where sponsor_key = 'aborted'",
      });
      expect(count).to.equal(0);
    }));

  it('destroy a connection whose transaction is still open, so that no later call inherits it', () =>
    using(connect(1), async ({ run }) => {
      // A statement limit or an operator can cancel a `begin` or a `rollback` in progress.
      await run({ name: 'left_open', text: 'begin' });
      await errorOf(() => run({ name: 'aborts', text: 'select 1/0' }));
      expect((await run({ name: 'one', text: 'select 1 as one' })).rows).to.deep.equal([{ one: 1 }]);
    }));

  it('retry a transaction that Postgres rolled back because of a deadlock', () =>
    using(connect(2), async ({ transact }) => {
      const lock = (key: number) => ({ name: `lock_${key}`, text: `select pg_advisory_xact_lock(99, ${key})` });
      let attempts = 0;
      const bothHoldOne = barrier(2);
      const both = (first: number, second: number) =>
        transact(async (run) => {
          attempts++;
          await run(lock(first));
          await bothHoldOne();
          await run(lock(second));
          return first;
        });
      const { now } = performance;
      // A stopped clock: on a busy machine the time for retries could run out.
      performance.now = () => 0;
      try {
        expect(await Promise.all([both(1, 2), both(2, 1)])).to.deep.equal([1, 2]);
      } finally {
        performance.now = now;
      }
      expect(attempts).to.be.greaterThan(2);
    }));

  it('do not report a faulty statement as StorageUnavailable', () =>
    using(connect(1), async ({ run }) => {
      for (const text of [
        'selec 1',
        'select 1/0',
        "select 'x'::integer",
        "insert into agents (agent_id) values ('x')",
      ]) {
        const thrown = await errorOf(() => run({ name: `bug ${text}`, text }));
        expect(thrown).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
      }
    }));

  it('report what another tool can remove as StorageUnavailable, with its meaning', () =>
    using(connect(1), async ({ run }) => {
      for (const [text, meaning] of [
        ['select 1 from nowhere', 'a table of Mandate is missing'],
        ['select nothing from agents', 'a column of Mandate is missing'],
        ['select nothing()', 'a function of Mandate is missing'],
      ] as const) {
        const thrown = await errorOf(() => run({ name: `removed ${text}`, text }));
        expect(thrown).to.be.instanceOf(StorageUnavailable);
        expect((thrown as StorageUnavailable).fault?.meaning).to.equal(meaning);
      }
    }));

  it('prepare their statements again after a pooler lost them, or after a table was changed', async () => {
    const outside = await connectOutside(database);
    await using(connect(1), async ({ run }) => {
      const statement = { name: 'kept', text: 'select * from agents limit 0' };
      for (const lose of [
        () => run({ name: 'lose', text: 'deallocate kept' }),
        () => outside.sql('alter table agents add column extra integer'),
      ]) {
        await run(statement);
        await lose();
        expect(await errorOf(() => run(statement))).to.be.instanceOf(StorageUnavailable);
        await run(statement);
      }
    });
    await outside.sql('alter table agents drop column extra');
    await outside.close();
  });

  it('throw StorageUnavailable and write nothing if the ledger has no partition for the month', async () => {
    const longAgo = plusSeconds(NOON, -400 * 86_400);
    const agent = await registeredAgent(storage);
    const opening = anOpening(agent);
    const before = await ledgerOf(storage);
    const late = { ...opening, entry: { ...opening.entry, at: longAgo } };
    expect(await errorOf(() => storage.tasks.open(late))).to.be.instanceOf(StorageUnavailable);
    expect(await ledgerOf(storage)).to.deep.equal(before);
    await storage.createPartitions(longAgo, 0);
    expect(await storage.tasks.open(late)).to.deep.equal({ kind: 'opened' });
  });

  it('throw StorageUnavailable if a stuck transaction holds the lock of the person', async () => {
    const opening = anOpening(await registeredAgent(storage));
    const outside = await database.outside?.('owner');
    await outside?.sql('begin');
    await outside?.sql(`select pg_advisory_xact_lock(${LOCK.sponsor}, hashtext('${opening.task.sponsorKey}'))`);
    expect(await errorOf(() => storage.tasks.open(opening))).to.be.instanceOf(StorageUnavailable);
    await outside?.sql('rollback');
    expect(await storage.tasks.open(opening)).to.deep.equal({ kind: 'opened' });
    await outside?.close();
  });

  it('survive the end of all their sessions', async () => {
    const outside = await database.outside?.('superuser');
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 8 }, () => storage.agents.list({ limit: 1 })));
      await outside?.sql(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, () => errorOf(() => storage.agents.list({ limit: 1 }))),
      );
      for (const thrown of outcomes)
        expect(thrown).to.be.oneOf([undefined, thrown instanceof StorageUnavailable && thrown]);
    }
    await storage.ledger.append(anEntry('admin.denied'));
    await outside?.close();
  });
});
