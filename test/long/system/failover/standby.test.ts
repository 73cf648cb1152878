/** A process that reaches servers that are not the primary, and one whose primary waits for its standby. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { CONNECTIONS_PER_PROCESS } from '../../../../adapters/storage/postgres/limits.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Answer, Mandate } from '../../../support/mandate.ts';
import { withService } from '../../../support/mandate.ts';
import { copyOfData } from '../../../support/postgres-pair.ts';
import { type Load, startLoad } from './load.ts';
import { SERVING, startWorld, type World } from './world.ts';

const PROMOTED = 'another database server was promoted to primary';
/** How long the standby is away, in seconds. Within 20 s, even connections without a limit stay below the bound. */
const AWAY_S = Number(process.env.MANDATE_STANDBY_AWAY_S ?? 40);
const SETTLING_MS = 1_500;
/** Workers of each kind. Without a limit, their commits would take more connections than the pools have. */
const CROWD = 4;
/** A switch is answered within this time after the standby is back. */
const FIRST_SWITCH_MS = 5_000;

describe('A process of the service', function () {
  this.timeout(90_000 + AWAY_S * 1000);
  let world: World;
  afterEach(() => world.stop());

  const sessions = async (server = world.pair.primary) => {
    const [row] = await world.ask(server, `select count(*) as n from pg_stat_activity where usename = '${SERVING}'`);
    return Number(row?.n);
  };
  const underLoad = async (work: (load: Load) => Promise<void>, copies = 1) => {
    const load = startLoad(world, copies);
    try {
      await work(load);
    } finally {
      await load.stop();
    }
    return load;
  };
  const expectUnavailable = (answer: Answer) => {
    expect(answer.status, answer.text).to.equal(503);
    expect(answer.headers.get('retry-after')).to.equal('5');
  };
  /** Waits until the process answers an exchange. */
  const served = (mandate: Mandate) =>
    eventually(async () => (await mandate.post('/oauth2/token', world.agent.exchangeForm())).status === 200, 50);

  it('keeps to the primary on the higher timeline, if a naive check takes both for primaries', async () => {
    world = await startWorld();
    const { pair, proxy, replicas } = world;
    await pair.promote();
    proxy.lead(pair.primary.server.port, pair.standby.server.port);
    await eventually(() => replicas.every(({ log }) => log.lines.some((line) => line.includes(PROMOTED))), 50);
    const load = await underLoad(() => pause(10_000));
    expect(await load.faults(pair.standby)).to.deep.equal([]);
    expect(load.count('exchange', 200)).to.be.above(20);
  });

  it('reads nothing from a standby, and serves again once it is promoted', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, proxy, mandate, agent } = world;
    const issued = await agent.exchange();
    proxy.lead(pair.standby.server.port);
    proxy.endSessions();
    const token = String(issued.body.access_token);
    expectUnavailable(await mandate.post('/oauth2/introspect', { token }));
    expectUnavailable(await mandate.admin('DELETE', `/admin/tasks/${String(issued.body.task_id)}`));
    expectUnavailable(await mandate.admin('GET', '/audit'));
    expectUnavailable(await agent.exchange());
    const ready = await mandate.get('/readyz', { accept: 'application/json' });
    expect(ready.status).to.equal(503);
    expect(ready.text).to.include('standby');
    await pair.promote();
    await served(mandate);
    expect((await mandate.introspect(token)).active).to.equal(true);
  });

  for (const how of ['is gone', 'applies nothing'] as const) {
    it(`keeps to its connections, and reads on, while the synchronous standby ${how}`, async () => {
      world = await startWorld({ synchronous: how === 'is gone' ? 'on' : 'remote_apply' });
      const { pair, replicas, mandate, agent } = world;
      const token = String((await agent.exchange()).body.access_token);
      const counted: number[] = [];
      const load = await underLoad(async (running) => {
        await pause(SETTLING_MS);
        if (how === 'is gone') await pair.standby.kill();
        else await pair.sql(pair.standby, 'select pg_wal_replay_pause()');
        for (let second = 0; second < AWAY_S; second++) {
          await pause(1000);
          counted.push(await sessions());
          expect((await mandate.introspect(token)).active).to.equal(true);
        }
        if (how === 'is gone') await pair.standby.start();
        else await pair.sql(pair.standby, 'select pg_wal_replay_resume()');
        const before = running.count('kill person', 200);
        const back = performance.now();
        await eventually(() => running.count('kill person', 200) > before, 20);
        expect(performance.now() - back).to.be.below(FIRST_SWITCH_MS);
        await pause(SETTLING_MS);
      }, CROWD);
      expect(await load.faults(pair.primary)).to.deep.equal([]);
      expect(Math.max(...counted)).to.be.at.most(replicas.length * CONNECTIONS_PER_PROCESS);
    });
  }

  it('decides nothing after its database was restored to an earlier time, until it is restarted', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, mandate, agent } = world;
    await agent.exchange();
    await pair.primary.halt('fast');
    const backup = copyOfData(pair.primary);
    await pair.primary.start();
    await served(mandate);
    const lost = await agent.exchange();
    expect((await mandate.admin('PUT', '/admin/sponsors/mallory/block')).status).to.equal(200);
    await pair.primary.halt('immediate');
    backup.restore();
    backup.remove();
    await pair.primary.start();

    const readyz = async () => (await mandate.get('/readyz', { accept: 'application/json' })).text;
    await eventually(async () => (await readyz()).includes('went back in time'), 50);
    expect(await readyz()).to.include('docs/operating.md');
    const mallory = { subject_token: agent.subjectToken({ sub: 'mallory' }) };
    expectUnavailable(await mandate.post('/oauth2/token', agent.exchangeForm(mallory)));
    expectUnavailable(await mandate.post('/oauth2/introspect', { token: String(lost.body.access_token) }));
    await withService(mandate.another({}, undefined, { clock: mandate.clock }), async (restarted) => {
      await served(restarted);
    });
  });

  it('can still stop tasks while others take all connections of the server', async () => {
    world = await startWorld({ maxConnections: 60 });
    const { mandate, agent } = world;
    const issued = await agent.exchange();
    // A connection for switches is opened, and idle ones are closed.
    await pause(12_000);
    const taken = await takeAll(world);
    try {
      const ended = await mandate.admin('DELETE', `/admin/tasks/${String(issued.body.task_id)}`);
      expect([ended.status, ended.body.revoked_tasks], ended.text).to.deep.equal([200, 1]);
      for (let second = 0; second < 15; second++) {
        const stopped = await mandate.admin('DELETE', '/admin/sponsors/ada/tasks');
        expect(stopped.status, stopped.text).to.equal(200);
        await pause(1000);
      }
    } finally {
      await taken.release();
    }
  });

  it('can still stop tasks while its role may open fewer connections than its pools want', async () => {
    world = await startWorld();
    const { pair, mandate } = world;
    await pair.sql(pair.primary, `alter role ${SERVING} connection limit 3`);
    await pair.sql(pair.primary, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${SERVING}'`);
    const load = await underLoad(async (running) => {
      await eventually(async () => (await mandate.admin('DELETE', '/admin/sponsors/ada/tasks')).status === 200, 50);
      for (let second = 0; second < 10; second++) {
        expect((await mandate.admin('DELETE', '/admin/sponsors/ada/tasks')).status).to.equal(200);
        await pause(1000);
      }
      expect(running.count('exchange', 500)).to.equal(0);
    });
    expect(await load.faults(pair.primary)).to.deep.equal([]);
  });
});

/** Opens connections of another role until the server refuses. */
async function takeAll({ pair }: World): Promise<{ release(): Promise<void> }> {
  const { default: pg } = await import('pg');
  const clients: InstanceType<typeof pg.Client>[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: pair.primary.server.url('owning', 'mandate') });
    client.on('error', () => undefined);
    try {
      await client.connect();
      clients.push(client);
    } catch {
      return { release: async () => void (await Promise.all(clients.map((one) => one.end()))) };
    }
  }
}
