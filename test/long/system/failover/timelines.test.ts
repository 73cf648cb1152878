/** Timelines that rise twice, go back, or rise by a restore, and commits that a promotion overtakes. */

import { expect } from 'chai';
import { eventually } from '../../../support/eventually.ts';
import type { Answer, Mandate } from '../../../support/mandate.ts';
import { copyOfData, promoteAgain, promoteHalted } from '../../../support/postgres-pair.ts';
import { startLoad } from './load.ts';
import { startWorld, type World } from './world.ts';

describe('A process of the service, as the timeline of its database changes', function () {
  this.timeout(90_000);
  let world: World;
  afterEach(() => world.stop());

  const expectUnavailable = (answer: Answer) => {
    expect(answer.status, answer.text).to.equal(503);
    expect(answer.headers.get('retry-after')).to.equal('5');
  };
  const exchange = (mandate: Mandate) => mandate.post('/oauth2/token', world.agent.exchangeForm());
  const served = (mandate: Mandate) => eventually(async () => (await exchange(mandate)).status === 200, 50);
  const readyz = async (mandate: Mandate) => (await mandate.get('/readyz', { accept: 'application/json' })).text;
  const expectWentBack = async () => {
    for (const mandate of world.replicas) {
      await eventually(async () => (await readyz(mandate)).includes('The database went back in time'), 50);
      expectUnavailable(await exchange(mandate));
      expectUnavailable(await mandate.admin('DELETE', '/admin/sponsors/ada/tasks'));
    }
  };

  it('serves on, and has lost nothing, if the new primary is promoted again at once', async () => {
    world = await startWorld();
    const { pair, proxy, replicas } = world;
    const load = startLoad(world);
    await eventually(() => load.count('exchange', 200) > 10);
    await pair.primary.kill();
    await pair.promote();
    proxy.lead(pair.standby.server.port);
    await promoteAgain(pair.standby);
    for (const mandate of replicas) await served(mandate);
    await load.stop();
    expect(await load.faults(pair.standby)).to.deep.equal([]);
    const [row] = await world.ask(pair.standby, 'select pg_walfile_name(pg_current_wal_lsn()) as wal');
    expect(String(row?.wal)).to.match(/^00000003/);
    await world.sealAndVerify();
  });

  it('asks nothing of a server on an earlier timeline, and serves again at the later one', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, proxy, mandate } = world;
    const leadTo = (server: typeof pair.primary) => {
      proxy.lead(server.server.port);
      proxy.endSessions();
    };
    await pair.promote();
    leadTo(pair.standby);
    await served(mandate);
    const issued = await exchange(mandate);
    leadTo(pair.primary);
    expectUnavailable(await exchange(mandate));
    expectUnavailable(await mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) }));
    expectUnavailable(await mandate.admin('DELETE', `/admin/tasks/${String(issued.body.task_id)}`));
    expectUnavailable(await mandate.admin('GET', '/audit'));
    await eventually(async () => (await readyz(mandate)).includes('timeline 1'), 50);
    leadTo(pair.standby);
    await served(mandate);
    expect((await mandate.introspect(issued)).active).to.equal(true);
  });

  it('decides nothing if a restore to an earlier time raised the timeline', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, replicas } = world;
    await pair.primary.halt('fast');
    const backup = copyOfData(pair.primary);
    await pair.primary.start();
    for (const mandate of replicas) await served(mandate);
    await pair.primary.halt('immediate');
    backup.restore();
    backup.remove();
    await promoteHalted(pair.primary);
    await expectWentBack();
  });

  it('decides nothing if an asynchronous standby lacked commits when it was promoted', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, proxy, replicas } = world;
    await pair.standby.halt('fast');
    for (const mandate of replicas) await served(mandate);
    await pair.primary.kill();
    await pair.standby.start();
    await pair.promote();
    proxy.lead(pair.standby.server.port);
    await expectWentBack();
  });

  it('answers no decision whose commit a promotion overtook, and the next attempt is decided at the new primary', async () => {
    world = await startWorld({ synchronous: 'off' });
    const { pair, proxy, mandate, agent } = world;
    const form = agent.exchangeForm({ subject_token: agent.subjectToken({ sub: 'overtaken' }) });
    const held = proxy.hold('commit\0');
    const answer = mandate.post('/oauth2/token', form);
    await held.reached;
    await pair.promote();
    proxy.lead(pair.standby.server.port);
    proxy.endSessions();
    await served(mandate);
    held.release();
    expectUnavailable(await answer);
    // The old primary committed it, and the new one does not know the assertion.
    const records = "select from ledger where event = 'token.issued' and sponsor = 'overtaken'";
    expect(await world.ask(pair.primary, records)).to.have.length(1);
    expect(await world.ask(pair.standby, records)).to.have.length(0);
    expect((await mandate.post('/oauth2/token', form)).status).to.equal(200);
    expect(await world.ask(pair.standby, records)).to.have.length(1);
  });
});
