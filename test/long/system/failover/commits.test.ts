/** Commits that are on one server only, although Postgres answered them, and numbers that a new server gives again. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { openPostgresCondition } from '../../../../adapters/storage/postgres/condition.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Answer, Mandate } from '../../../support/mandate.ts';
import { OTHER_STANDBY, STANDBY } from '../../../support/postgres-pair.ts';
import { startLoad } from './load.ts';
import { SERVING, startWorld, type World } from './world.ts';

const CANCEL =
  "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and usename = 'serving'";

describe('A commit of which Postgres says that it may be lost', function () {
  this.timeout(120_000);
  let world: World;
  afterEach(() => world.stop());

  const exchange = (mandate: Mandate, person = 'ada') =>
    mandate.post(
      '/oauth2/token',
      world.agent.exchangeForm({ subject_token: world.agent.subjectToken({ sub: person }) }),
    );
  const served = (mandate: Mandate) => eventually(async () => (await exchange(mandate)).status === 200, 50);

  it('is answered 503, if the wait for the standby was cancelled: none of seven decisions is answered as done', async () => {
    world = await startWorld();
    const { pair, proxy, mandate, agent } = world;
    const [task, grant] = [await exchange(mandate, 'grace'), await exchange(mandate, 'edsger')];
    await exchange(mandate, 'barbara');
    await pair.standby.kill();
    const decisions: Readonly<Record<string, () => Promise<Answer>>> = {
      'kill by task': () => mandate.admin('DELETE', `/admin/tasks/${String(task.body.task_id)}`),
      'kill by person': () => mandate.admin('DELETE', '/admin/sponsors/barbara/tasks'),
      'kill that finds nothing': () => mandate.admin('DELETE', '/admin/sponsors/nobody/tasks'),
      block: () => mandate.admin('PUT', '/admin/sponsors/mallory/block'),
      revocation: () => mandate.post('/oauth2/revoke', agent.revokeForm(String(grant.body.refresh_token))),
      renewal: () => mandate.post('/oauth2/token', agent.refreshForm(String(grant.body.refresh_token))),
      exchange: () => exchange(mandate, 'late'),
    };
    let isOver = false;
    const cancelling = eventually(async () => {
      await world.ask(pair.primary, CANCEL);
      return isOver;
    }, 20);
    for (const [name, decide] of Object.entries(decisions)) {
      const answer = await decide();
      expect([answer.status, answer.headers.get('retry-after')], `${name}: ${answer.text}`).to.deep.equal([503, '5']);
    }
    isOver = true;
    await cancelling;
    expect(mandate.log.lines.some((line) => line.includes('COMMIT_WARNED'))).to.equal(true);
    await pair.primary.kill();
    await pair.standby.start();
    await pair.promote();
    proxy.lead(pair.standby.server.port);
    // None of the answers was a yes, so none is lost.
    const lost = await world.ask(pair.standby, "select event from ledger where sponsor in ('mallory', 'late')");
    expect(lost).to.deep.equal([]);
  });

  for (const weak of ['off', 'local', 'remote_write']) {
    it(`is no commit under a reloaded synchronous_commit, in a session that began before: ${weak}`, async () => {
      world = await startWorld();
      const { pair, proxy, mandate } = world;
      const load = startLoad(world);
      await eventually(() => load.count('exchange', 200) > 10);
      // The server would keep commits of such sessions in memory.
      await pair.sql(pair.primary, `alter system set wal_writer_delay to '10s'`);
      await pair.sql(pair.primary, `alter system set synchronous_commit to '${weak}'`);
      await pair.sql(pair.primary, 'select pg_reload_conf()');
      const before = load.count('exchange', 200);
      await eventually(() => load.count('exchange', 200) > before + 20);
      proxy.lead();
      await pair.primary.kill();
      await pair.promote();
      proxy.lead(pair.standby.server.port);
      await served(mandate);
      await load.stop();
      expect(await load.faults(pair.standby)).to.deep.equal([]);
      await world.sealAndVerify();
    });
  }

  it('waits for both standbys under ANY 2, so that none of an old primary is answered; doctor tells ANY 1 from it', async () => {
    world = await startWorld({ standbys: 2 });
    const { pair, proxy, mandate } = world;
    const condition = await openPostgresCondition(pair.primary.server.url(SERVING, 'mandate'), capturedLog());
    const standbys = async () => (await condition.writing())?.standbys;
    try {
      await pair.synchronous('on', `ANY 1 (${STANDBY}, ${OTHER_STANDBY})`);
      await eventually(async () => (await standbys())?.needed === 1);
      expect(await standbys()).to.deep.equal({ needed: 1, connected: 2 });
      await pair.synchronous('on', `ANY 2 (${STANDBY}, ${OTHER_STANDBY})`);
      await eventually(async () => (await standbys())?.needed === 2);
    } finally {
      await condition.close();
    }
    const load = startLoad(world);
    await eventually(() => load.count('kill task', 200) > 3);
    // The old primary goes on: one standby follows it, and sessions of the replicas stay.
    await pair.promote();
    proxy.lead(pair.standby.server.port);
    await pause(10_000);
    await served(mandate);
    const before = load.count('kill task', 200);
    await eventually(() => load.count('kill task', 200) > before);
    await load.stop();
    expect(await load.faults(pair.standby)).to.deep.equal([]);
    await world.sealAndVerify();
  });
});

describe('A number that a new server gives again', function () {
  this.timeout(120_000);
  let world: World;
  afterEach(() => world.stop());

  const person = (sub: string) => ({ subject_token: world.agent.subjectToken({ sub }) });
  const exchange = (mandate: Mandate, sub = 'ada') =>
    mandate.post('/oauth2/token', world.agent.exchangeForm(person(sub)));
  const served = (mandate: Mandate) => eventually(async () => (await exchange(mandate)).status === 200, 50);
  const readyz = async (mandate: Mandate) => (await mandate.get('/readyz', { accept: 'application/json' })).text;

  it('does not hide that the record is gone: a replica that answered a kill and a block of the old primary stops', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, proxy, mandate, agent } = world;
    const old = await exchange(mandate, 'grace');
    await pair.primary.kill();
    await pair.promote();
    proxy.lead(pair.standby.server.port);
    await served(mandate);
    for (let nth = 0; nth < 40; nth++) expect((await exchange(mandate)).status).to.equal(200);
    // The old primary starts as it was, and a new replica is led to it.
    await pair.primary.start();
    proxy.lead(pair.primary.server.port);
    const replica = await mandate.another({}, undefined, { clock: mandate.clock });
    try {
      const killed = await replica.admin('DELETE', `/admin/tasks/${String(old.body.task_id)}`);
      expect([killed.status, killed.body.revoked_tasks], killed.text).to.deep.equal([200, 1]);
      expect((await replica.admin('PUT', '/admin/sponsors/mallory/block')).status).to.equal(200);
      proxy.lead(pair.standby.server.port);
      proxy.endSessions();
      await eventually(async () => (await readyz(replica)).includes('The database went back in time'), 50);
      const answers = [
        await replica.post('/oauth2/introspect', { token: String(old.body.access_token) }),
        await replica.post('/oauth2/token', agent.exchangeForm(person('mallory'))),
      ];
      expect(answers.map(({ status }) => status)).to.deep.equal([503, 503]);
    } finally {
      await replica.stop();
    }
  });

  it('is refused behind a sequence that a move did not copy, until setval or the newest record, and everything is sealed', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, mandate, replicas } = world;
    for (let nth = 0; nth < 20; nth++) expect((await exchange(mandate)).status).to.equal(200);
    await mandate.jobs.seal();
    for (let nth = 0; nth < 15; nth++) expect((await exchange(mandate)).status).to.equal(200);
    await world.ask(pair.primary, "select setval('ledger_seq', 1, false)");
    const load = startLoad(world);
    await eventually(async () => (await readyz(mandate)).includes('ledger_seq was set back'), 20);
    await eventually(() => load.count('exchange', 200) > 50, 20);
    await load.stop();
    expect(await load.faults(pair.primary)).to.deep.equal([]);
    for (const one of replicas) await served(one);
    const [row] = await world.ask(
      pair.primary,
      'select count(*) as records, count(distinct seq) as numbers from ledger',
    );
    expect(row?.records).to.equal(row?.numbers);
    await world.sealAndVerify();
    expect((await mandate.untilReady()).text).to.equal('Healthy');
  });
});
