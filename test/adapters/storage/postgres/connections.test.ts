import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type Connections, openConnections } from '../../../../adapters/storage/postgres/connections.ts';
import { ServerSilent } from '../../../../adapters/storage/postgres/errors.ts';
import { LIMITS, type Limits } from '../../../../adapters/storage/postgres/limits.ts';
import { LOCK } from '../../../../adapters/storage/postgres/locks.ts';
import { openPostgres } from '../../../../adapters/storage/postgres/open.ts';
import { endTasks } from '../../../../application/decisions/end-tasks.ts';
import { placeBlock } from '../../../../application/decisions/place-block.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import { anEntry, anOpening, ledgerOf, newSponsorKey, registeredAgent } from '../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { connectOutside, type FreshDatabase, freshDatabase, TENFOLD_LIMITS } from '../../../support/databases.ts';
import { anAgent, NOON } from '../../../support/domain-fixtures.ts';
import { eventually } from '../../../support/eventually.ts';
import { type RunningPostgres, SUPERUSER, startPostgresServer } from '../../../support/postgres-server.ts';
import { type Storage, withMethods } from '../../../support/storage.ts';
import { tcpProxy } from '../../../support/tcp-proxy.ts';

const surroundings = () => ({ clock: { now: () => NOON }, log: capturedLog() });

/** A barrier: each call resolves once `many` calls have been made. */
function barrier(many: number): () => Promise<void> {
  let [arrived, release] = [0, () => {}];
  const all = new Promise<void>((resolve) => {
    release = resolve;
  });
  return () => {
    arrived += 1;
    if (arrived === many) release();
    return all;
  };
}

async function thrownBy(act: () => Promise<unknown>): Promise<unknown> {
  return act().then(
    () => undefined,
    (error: unknown) => error,
  );
}

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
      const held = thrownBy(() => run(sleep(0.29)));
      const late = await Promise.all([1, 2, 3].map(() => thrownBy(() => run(sleep(0.29)))));
      await held;
      expect(late.some((thrown) => thrown instanceof StorageUnavailable)).to.equal(true);
    }));

  it('end a statement that takes too long, and are used again', () =>
    using(connect(1, { statement: 1_000 }), async ({ run }) => {
      expect(await thrownBy(() => run(sleep(5)))).to.be.instanceOf(StorageUnavailable);
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
      expect(String(await thrownBy(failing))).to.include('our own');
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
          await thrownBy(() => run({ name: 'fails', text: 'select 1/0' }));
          return 'stored';
        });
      expect(String(await thrownBy(ignoring))).to.include('the transaction was rolled back');
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
      await thrownBy(() => run({ name: 'aborts', text: 'select 1/0' }));
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
        const thrown = await thrownBy(() => run({ name: `bug ${text}`, text }));
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
        const thrown = await thrownBy(() => run({ name: `removed ${text}`, text }));
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
        expect(await thrownBy(() => run(statement))).to.be.instanceOf(StorageUnavailable);
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
    expect(await thrownBy(() => storage.tasks.open(late))).to.be.instanceOf(StorageUnavailable);
    expect(await ledgerOf(storage)).to.deep.equal(before);
    await storage.createPartitions(longAgo, 0);
    expect(await storage.tasks.open(late)).to.deep.equal({ kind: 'opened' });
  });

  it('throw StorageUnavailable if a stuck transaction holds the lock of the person', async () => {
    const opening = anOpening(await registeredAgent(storage));
    const outside = await database.outside?.('owner');
    await outside?.sql('begin');
    await outside?.sql(`select pg_advisory_xact_lock(${LOCK.sponsor}, hashtext('${opening.task.sponsorKey}'))`);
    expect(await thrownBy(() => storage.tasks.open(opening))).to.be.instanceOf(StorageUnavailable);
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
        Array.from({ length: 8 }, () => thrownBy(() => storage.agents.list({ limit: 1 }))),
      );
      for (const thrown of outcomes)
        expect(thrown).to.be.oneOf([undefined, thrown instanceof StorageUnavailable && thrown]);
    }
    await storage.ledger.append(anEntry('admin.denied'));
    await outside?.close();
  });
});

describe('a Postgres server that stops or freezes', () => {
  let server: RunningPostgres;
  beforeEach(async function () {
    this.timeout(60_000);
    server = await startPostgresServer();
  });
  afterEach(async () => {
    await server.stop();
  });

  it('is unavailable and not ready after its end, and so is a server that never ran', async function () {
    this.timeout(60_000);
    const connectionString = server.server.url(SUPERUSER, 'postgres');
    const storage = withMethods(await openPostgres({ connectionString, limits: TENFOLD_LIMITS }, surroundings()));
    await storage.migrate();
    await registeredAgent(storage);
    expect(await storage.readiness.check()).to.deep.include({ status: 'Healthy' });
    await server.stop();
    server = await startPostgresServer();
    const absent = withMethods(await openPostgres({ connectionString, limits: TENFOLD_LIMITS }, surroundings()));
    for (const gone of [storage, absent]) {
      for (const act of [
        () => gone.agents.list({}),
        () => gone.ledger.append(anEntry('admin.denied')),
        () => gone.tasks.open(anOpening(anAgent())),
        () => gone.schemaStatus(),
        () => gone.migrate(),
      ]) {
        expect(await thrownBy(act)).to.be.instanceOf(StorageUnavailable);
      }
      expect(await gone.readiness.check()).to.deep.equal({
        status: 'Unhealthy',
        detail: 'No answer from the database: Postgres could not be reached (ECONNREFUSED).',
      });
      await gone.close();
    }
  });

  it('does not run a refused decision after it thaws', async function () {
    this.timeout(60_000);
    const connectionString = server.server.url(SUPERUSER, 'postgres');
    // A wait for a permit may last longer than the watchdog's limit, so the block is refused while it waits.
    const limits = { ...LIMITS, revoking: { ...LIMITS.revoking, acquire: 30_000 } };
    const storage = await openPostgres({ connectionString, limits }, surroundings());
    await storage.migrate();
    const kill = () =>
      storage.decide(endTasks, {
        selection: { kind: 'sponsor', sponsorKey: newSponsorKey() },
        at: NOON,
        reason: 'operator_kill_switch',
      });
    await kill();
    server.freeze();
    // These kill switches use all permits of operators, so the block waits without a connection.
    const kills = [thrownBy(kill), thrownBy(kill)];
    const sponsorKey = newSponsorKey();
    const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON } as const;
    const blocked = thrownBy(() => storage.decide(placeBlock, { block, reason: 'sponsor_blocked' }));
    for (const thrown of await Promise.all([...kills, blocked])) expect(thrown).to.be.instanceOf(StorageUnavailable);
    server.thaw();
    // These kill switches queue for permits behind the block. A block that was still queued would run before them.
    for (let nth = 0; nth < 50; nth++) await kill();
    expect(await storage.sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
    await storage.close();
  });

  it('makes calls fail while it does not answer, and is used again when it answers', async () => {
    const proxy = await tcpProxy(server.server.port);
    const direct = server.server.url(SUPERUSER, 'postgres');
    const connectionString = direct.replace(String(server.server.port), String(proxy.port));
    // `acquire` is longer than opening a connection takes to fail, also on a busy machine.
    const limits = { ...TENFOLD_LIMITS.serving, acquire: 15_000, query: 2_500 };
    const connections = openConnections({ connectionString, poolSize: 2, limits }, capturedLog());
    const one = { name: 'one', text: 'select 1 as one' };
    await Promise.all([connections.run(one), connections.run(one)]);
    proxy.silence();
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => thrownBy(() => connections.run(one))));
    for (const thrown of outcomes) expect(thrown).to.be.instanceOf(StorageUnavailable);
    proxy.resume();
    for (let round = 0; round < 4; round++) {
      expect((await connections.run(one)).rows).to.deep.equal([{ one: 1 }]);
    }
    await connections.close();
    await proxy.close();
  });

  it('has no connection left after the watchdog has aborted a call', async () => {
    const proxy = await tcpProxy(server.server.port);
    const direct = server.server.url(SUPERUSER, 'postgres');
    const connectionString = direct.replace(String(server.server.port), String(proxy.port));
    // All other limits are long, so only the watchdog can abort the call.
    const connections = openConnections(
      { connectionString, poolSize: 1, limits: TENFOLD_LIMITS.serving, isThere: async () => false },
      capturedLog(),
    );
    const sleeping = thrownBy(() => connections.run({ name: 'sleep', text: 'select pg_sleep(30)' }));
    expect(await sleeping).to.be.instanceOf(ServerSilent);
    await eventually(() => proxy.connections() === 0);
    await connections.close();
    await proxy.close();
  });

  it('does not delay the close of its connections while it is frozen', async function () {
    if (process.platform !== 'linux') this.skip();
    // Counts only open sockets (with an inode) to this server: others of this process come and go.
    const to = server.server.port.toString(16).toUpperCase().padStart(4, '0');
    const held = new RegExp(`^ *\\d+: [0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:${to} (?:\\S+ +){6}[1-9]\\d* `, 'gm');
    const sockets = () => readFileSync('/proc/self/net/tcp', 'utf8').match(held)?.length ?? 0;
    const connectionString = server.server.url(SUPERUSER, 'postgres');
    const before = sockets();
    const connections = openConnections(
      { connectionString, poolSize: 2, limits: TENFOLD_LIMITS.serving },
      capturedLog(),
    );
    const one = { name: 'one', text: 'select 1 as one' };
    // Both transactions are open at once, so that the pool has made both connections before it closes.
    const both = barrier(2);
    const isUsed = () =>
      connections.transact(async (run) => {
        await run(one);
        await both();
      });
    await Promise.all([isUsed(), isUsed()]);
    expect(sockets()).to.equal(before + 2);
    server.freeze();
    try {
      const began = performance.now();
      await connections.close();
      // The pool itself would wait five seconds.
      expect(performance.now() - began).to.be.below(4_500);
      for (let tries = 0; sockets() !== before && tries < 200; tries++) await pause(10);
      expect(sockets()).to.equal(before);
    } finally {
      server.thaw();
    }
  });

  it('does not make a later query return its late answer', async () => {
    const proxy = await tcpProxy(server.server.port);
    const direct = server.server.url(SUPERUSER, 'postgres');
    const connectionString = direct.replace(String(server.server.port), String(proxy.port));
    const limits = { ...TENFOLD_LIMITS.serving, query: 2_500 };
    const connections = openConnections({ connectionString, poolSize: 1, limits }, capturedLog());
    const ask = (answer: number) => connections.run({ name: `answer_${answer}`, text: `select ${answer} as answer` });
    await ask(0);
    proxy.silence();
    expect(await thrownBy(() => ask(1))).to.be.instanceOf(StorageUnavailable);
    proxy.resume();
    expect((await ask(2)).rows).to.deep.equal([{ answer: 2 }]);
    await connections.close();
    await proxy.close();
  });
});
