/** No switch is answered by an old primary: many rounds, while sessions to it linger. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../../support/eventually.ts';
import type { Answer, Mandate } from '../../../support/mandate.ts';
import { startWorld, type World } from './world.ts';

const ROUNDS = 200;
const WORKERS = 4;
const IDLE_MS = 11_000;
/** Exchanges at once at each replica: they give up all connections for requests that stayed on the old primary. */
const EXCHANGING = 8;

describe('After a promotion, while sessions to the old primary linger', function () {
  this.timeout(120_000);
  let world: World;
  beforeEach(async () => {
    world = await startWorld();
  });
  afterEach(() => world.stop());

  it(`no switch is answered by the old primary: ${ROUNDS} rounds`, async () => {
    const { pair, proxy, replicas, agent } = world;
    const wrong: string[] = [];
    let [started, answered] = [0, 0];
    const replica = (nth: number) => replicas[nth % replicas.length] as Mandate;
    const start = async (nth: number): Promise<Answer> =>
      replica(nth).post('/oauth2/token', agent.exchangeForm({ subject_token: agent.subjectToken({ sub: `p${nth}` }) }));
    const round = async () => {
      const nth = started++;
      const issued = await start(nth);
      if (issued.status !== 200) return;
      const path = nth % 2 === 0 ? `/admin/tasks/${String(issued.body.task_id)}` : `/admin/sponsors/p${nth}/tasks`;
      const stopped = await replica(nth + (nth >> 1)).admin('DELETE', path);
      if (stopped.status === 503) return;
      answered += 1;
      const states = await Promise.all(replicas.map((one) => one.introspect(issued)));
      if (stopped.status !== 200 || stopped.body.revoked_tasks === 0 || states.some(({ active }) => active !== false)) {
        wrong.push(`${path}: ${stopped.status} ${stopped.text}, then ${JSON.stringify(states)}`);
      }
    };
    const rounds = async (until: number) => {
      const worker = async () => {
        while (answered < until) await round();
      };
      await Promise.all(Array.from({ length: WORKERS }, worker));
    };

    await rounds(ROUNDS / 4);
    // Idle connections close after ten seconds. The next rounds open one for switches at each replica, and few others.
    await pause(IDLE_MS);
    for (const _ of replicas) await round();
    pair.primary.freeze();
    await pair.promote();
    proxy.lead(pair.standby.server.port);
    // No switch is sent meanwhile, so the connections for switches stay on the old primary. Idle ones close after 10 s.
    const exchanging = Array.from({ length: EXCHANGING * replicas.length }, async (_, nth) => {
      await eventually(async () => (await start(nth)).status === 200, 50);
    });
    await Promise.all(exchanging);
    pair.primary.thaw();
    await pause(100);
    await rounds(ROUNDS);
    expect(wrong).to.deep.equal([]);
    await world.sealAndVerify();
  });
});
