/** HAProxy as docs/high-availability.md configures it: its health check follows the leader. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../../support/eventually.ts';
import { haproxyIsInstalled, startHaproxy } from '../../../support/haproxy.ts';
import { startPostgresPair } from '../../../support/postgres-pair.ts';
import { startLoad } from './load.ts';
import { startReplicas } from './world.ts';

const BEFORE_MS = 1_500;

describe('Behind HAProxy', function () {
  this.timeout(120_000);
  if (!haproxyIsInstalled()) {
    it('is skipped: /usr/sbin/haproxy is not installed', function () {
      this.skip();
    });
    return;
  }
  const kinds = { 'ends the sessions of the old primary': 'on-marked-down shutdown-sessions', 'lets them linger': '' };
  for (const [how, extra] of Object.entries(kinds)) {
    it(`nothing is lost if the old primary wakes up, and HAProxy ${how}`, async () => {
      const pair = await startPostgresPair();
      const ports = [pair.primary.server.port, pair.standby.server.port] as const;
      const haproxy = await startHaproxy(ports, ports[0], extra);
      try {
        // It marks the servers before the first connection.
        await pause(BEFORE_MS);
        const world = await startReplicas(pair, haproxy.port, 'on');
        try {
          const load = startLoad(world);
          await pause(BEFORE_MS);
          pair.primary.freeze();
          await pair.promote();
          haproxy.lead(ports[1]);
          const before = load.count('exchange', 200);
          await eventually(() => load.count('exchange', 200) > before + 20);
          pair.primary.thaw();
          await pause(3 * BEFORE_MS);
          await load.stop();
          expect(await load.faults(pair.standby)).to.deep.equal([]);
          await world.sealAndVerify();
        } finally {
          await world.stop();
        }
      } finally {
        await haproxy.close();
        await pair.stop();
      }
    });
  }
});
