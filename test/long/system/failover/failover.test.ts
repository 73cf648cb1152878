/** Failovers of Postgres: nothing answered is lost, no answer is a wrong yes, and the service recovers by itself. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../../support/eventually.ts';
import { type Load, startLoad } from './load.ts';
import { startWorld, type World } from './world.ts';

/** The load runs this long before and after a fault. */
const BEFORE_MS = 1_500;

describe('After a failover of Postgres with a synchronous standby', function () {
  this.timeout(120_000);
  let world: World;
  let load: Load;
  beforeEach(async () => {
    world = await startWorld();
    load = startLoad(world);
    await pause(BEFORE_MS);
  });
  afterEach(async () => {
    await load.stop();
    await world.stop();
  });

  const exchanged = () => load.count('exchange', 200);
  /** Waits until exchanges are answered again, and the load has seen more. */
  const recovered = async () => {
    const before = exchanged();
    await eventually(() => exchanged() > before + 5);
    await pause(BEFORE_MS);
    await load.stop();
  };
  const leadTo = (port: number, { endSessions }: { readonly endSessions: boolean }) => {
    world.proxy.lead(port);
    if (endSessions) world.proxy.endSessions();
  };
  const noFaults = async () => {
    expect(await load.faults(world.pair.standby)).to.deep.equal([]);
    const ready = await world.mandate.untilReady();
    expect(ready.status, ready.text).to.equal(200);
    await world.sealAndVerify();
  };

  const killed = {
    'if the primary was killed': {},
    'if the primary was killed while commits wait until the standby has applied them': { synchronous: 'remote_apply' },
    'if the primary was killed, and the standby applies an hour later': { delay: '1h' },
  } as const;
  for (const [title, fault] of Object.entries(killed)) {
    it(`serves on, and has lost nothing, ${title}`, async () => {
      const { pair } = world;
      if ('synchronous' in fault) await pair.synchronous(fault.synchronous);
      if ('delay' in fault) {
        await pair.sql(pair.standby, `alter system set recovery_min_apply_delay to '${fault.delay}'`);
        await pair.sql(pair.standby, 'select pg_reload_conf()');
      }
      await pause(BEFORE_MS);
      world.proxy.lead();
      await pair.primary.kill();
      await pair.promote();
      leadTo(pair.standby.server.port, { endSessions: true });
      await recovered();
      await noFaults();
    });
  }

  it('serves on, and has lost nothing, after a switchover', async () => {
    const { pair } = world;
    world.proxy.lead();
    await pair.primary.halt('fast');
    await pair.promote();
    leadTo(pair.standby.server.port, { endSessions: false });
    await recovered();
    await noFaults();
  });

  for (const endSessions of [true, false]) {
    const how = endSessions ? 'and the proxy ends its sessions' : 'and the proxy lets its sessions linger';
    it(`serves on, and has lost nothing, if the old primary wakes up ${how}`, async () => {
      const { pair } = world;
      pair.primary.freeze();
      await pair.promote();
      leadTo(pair.standby.server.port, { endSessions });
      const before = exchanged();
      await eventually(() => exchanged() > before + 20);
      pair.primary.thaw();
      await recovered();
      await noFaults();
      // A connection to the old primary is closed when it is used, or after it was idle for ten seconds.
      await eventually(() => world.proxy.connectionsTo(pair.primary.server.port) === 0, 50);
    });
  }
});
