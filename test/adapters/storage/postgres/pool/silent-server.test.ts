import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { ServerSilent } from '../../../../../adapters/storage/postgres/errors.ts';
import { LIMITS } from '../../../../../adapters/storage/postgres/limits.ts';
import { openConnections } from '../../../../../adapters/storage/postgres/pool/pool.ts';
import { endTasks } from '../../../../../application/decisions/end-tasks.ts';
import { placeBlock } from '../../../../../application/decisions/place-block.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { anEntry, anOpening, newSponsorKey, registeredAgent } from '../../../../contract/storage-fixtures.ts';
import { barrier } from '../../../../support/barrier.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { TENFOLD_LIMITS } from '../../../../support/databases.ts';
import { anAgent, NOON } from '../../../../support/domain-fixtures.ts';
import { eventually } from '../../../../support/eventually.ts';
import { openPostgres } from '../../../../support/open-postgres.ts';
import { type RunningPostgres, SUPERUSER, startPostgresServer } from '../../../../support/postgres-server.ts';
import { withMethods } from '../../../../support/storage.ts';
import { tcpProxy } from '../../../../support/tcp-proxy.ts';
import { errorOf } from '../../../../support/thrown-by.ts';

const surroundings = () => ({ clock: { now: () => NOON }, log: capturedLog() });

describe('a Postgres server that stops or freezes', () => {
  let server: RunningPostgres;
  before(async function () {
    this.timeout(60_000);
    server = await startPostgresServer();
  });
  after(() => server.stop());

  async function throughProxy() {
    const { port } = server.server;
    const proxy = await tcpProxy(port);
    const direct = server.server.url(SUPERUSER, 'postgres');
    return { proxy, connectionString: direct.replace(String(port), String(proxy.port)) };
  }

  it('is unavailable and not ready after its end, and so is a server that never ran', async function () {
    this.timeout(60_000);
    const connectionString = server.server.url(SUPERUSER, 'postgres');
    const storage = withMethods(await openPostgres({ connectionString, limits: TENFOLD_LIMITS }, surroundings()));
    await storage.migrate();
    await registeredAgent(storage);
    expect(await storage.readiness.check()).to.deep.include({ status: 'Healthy' });
    await server.halt('fast');
    const absent = withMethods(await openPostgres({ connectionString, limits: TENFOLD_LIMITS }, surroundings()));
    for (const gone of [storage, absent]) {
      for (const act of [
        () => gone.agents.list({}),
        () => gone.ledger.append(anEntry('admin.denied')),
        () => gone.tasks.open(anOpening(anAgent())),
        () => gone.schemaStatus(),
        () => gone.migrate(),
      ]) {
        expect(await errorOf(act)).to.be.instanceOf(StorageUnavailable);
      }
      expect(await gone.readiness.check()).to.deep.equal({
        status: 'Unhealthy',
        detail: 'No answer from the database: Postgres could not be reached (ECONNREFUSED).',
      });
      await gone.close();
    }
    await server.start();
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
    const kills = [errorOf(kill), errorOf(kill)];
    const sponsorKey = newSponsorKey();
    const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON } as const;
    const blocked = errorOf(() => storage.decide(placeBlock, { block, reason: 'sponsor_blocked' }));
    for (const thrown of await Promise.all([...kills, blocked])) expect(thrown).to.be.instanceOf(StorageUnavailable);
    server.thaw();
    // These kill switches queue for permits behind the block. A block that was still queued would run before them.
    for (let nth = 0; nth < 50; nth++) await kill();
    expect(await storage.sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
    await storage.close();
  });

  it('makes calls fail while it does not answer, and is used again when it answers', async () => {
    const { proxy, connectionString } = await throughProxy();
    // `acquire` is longer than opening a connection takes to fail, also on a busy machine.
    const limits = { ...TENFOLD_LIMITS.serving, acquire: 15_000, query: 2_500 };
    const connections = openConnections({ connectionString, poolSize: 2, limits }, capturedLog());
    const one = { name: 'one', text: 'select 1 as one' };
    await Promise.all([connections.run(one), connections.run(one)]);
    proxy.silence();
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => errorOf(() => connections.run(one))));
    for (const thrown of outcomes) expect(thrown).to.be.instanceOf(StorageUnavailable);
    proxy.resume();
    for (let round = 0; round < 4; round++) {
      expect((await connections.run(one)).rows).to.deep.equal([{ one: 1 }]);
    }
    await connections.close();
    await proxy.close();
  });

  it('has no connection left after the watchdog has aborted a call', async () => {
    const { proxy, connectionString } = await throughProxy();
    // All other limits are long, so only the watchdog can abort the call.
    const connections = openConnections(
      { connectionString, poolSize: 1, limits: TENFOLD_LIMITS.serving, isThere: async () => false },
      capturedLog(),
    );
    const sleeping = errorOf(() => connections.run({ name: 'sleep', text: 'select pg_sleep(30)' }));
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
    const { proxy, connectionString } = await throughProxy();
    const limits = { ...TENFOLD_LIMITS.serving, query: 2_500 };
    const connections = openConnections({ connectionString, poolSize: 1, limits }, capturedLog());
    const ask = (answer: number) => connections.run({ name: `answer_${answer}`, text: `select ${answer} as answer` });
    await ask(0);
    proxy.silence();
    expect(await errorOf(() => ask(1))).to.be.instanceOf(StorageUnavailable);
    proxy.resume();
    expect((await ask(2)).rows).to.deep.equal([{ answer: 2 }]);
    await connections.close();
    await proxy.close();
  });
});
