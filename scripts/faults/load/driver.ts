/**
 * The process that puts load on the service, apart from whoever brings about the fault: it is told whom to ask, says
 * what the service must know about people and agents, and keeps every answer in a file.
 */

import { createWriteStream } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Acting, actsOf } from './acts.ts';
import { countOrder, type DriverMessage, type LoadOrders, type Pace, stopOrder } from './orders.ts';
import { assembleCast } from './people-and-agents.ts';
import { seeded } from './random.ts';
import { requestsOf } from './requests.ts';
import { openSession } from './session.ts';

/** After a request that nobody answered: whoever is down needs time to come back more than it needs questions. */
const UNANSWERED_PAUSE_MS = 50;
const REGISTERING_ATTEMPTS = 40;
/** A timer for each request would be most of the work. */
const TICK_MS = 5;
/** By so much a group may be late, and so large. */
const LATE_SECONDS = 0.1;

const say = (message: DriverMessage) => process.send?.(message);

const cast = await assembleCast();
say({ kind: 'cast', settings: cast.settings, agents: cast.agents.map(({ id }) => id) });

let isOver = false;
let answered = 0;
/** Takes the place of so many requests at a time. */
let pace: Pace | undefined;

process.on('message', (message: LoadOrders | Pace | typeof stopOrder | typeof countOrder) => {
  if (message === stopOrder) isOver = true;
  else if (message === countOrder) say({ kind: 'count', answered });
  else if ('perSecond' in message) pace = message;
  else void load(message);
});

async function load(orders: LoadOrders): Promise<void> {
  const [kept, anew] = [openSession(orders.urls), openSession(orders.urls, false)];
  const requests = requestsOf(cast, orders.issuer, orders.adminKey);
  for (const agent of cast.agents) {
    for (let attempts = 1; (await kept.send(requests.register(agent))).status !== 201; attempts++) {
      if (attempts === REGISTERING_ATTEMPTS) throw new Error('an agent could not be registered');
      await pause(UNANSWERED_PAUSE_MS);
    }
  }
  const file = createWriteStream(orders.file);
  const random = seeded(orders.seed);
  const keep: Acting['keep'] = (one) => {
    file.write(`${JSON.stringify(one)}\n`);
    answered += 1;
  };
  const acting = { requests, agents: cast.agents, random };
  const act = actsOf({ ...acting, session: kept, keep });
  const actAnew = actsOf({ ...acting, session: anew, keep: (one) => keep({ ...one, anew: true }) });
  pace = orders.pace;
  say({ kind: 'loading' });

  const work = async () => {
    while (!isOver && pace === undefined) {
      if (!(await act())) await pause(UNANSWERED_PAUSE_MS);
      if (orders.pauseMs > 0) await pause(orders.pauseMs);
    }
  };
  await Promise.all(Array.from({ length: orders.concurrency }, work));
  if (pace !== undefined) await atPace(pace, (nth) => (pace?.newConnections && nth % 2 === 0 ? actAnew() : act()));
  kept.close();
  anew.close();
  await new Promise((written) => file.end(written));
  say({ kind: 'over', answered });
}

/**
 * Begins so many a second, in small groups, whether or not those before have been answered. What this process was too
 * slow for is left out: sent late and all at once, it would be another load than was asked for.
 */
async function atPace({ perSecond }: Pace, act: (nth: number) => Promise<boolean>): Promise<void> {
  const underWay = new Set<Promise<boolean>>();
  const atOnce = Math.ceil(perSecond * LATE_SECONDS);
  let began = performance.now();
  for (let sent = 0; !isOver; await pause(TICK_MS)) {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
    if (due - sent > atOnce) {
      began += ((due - sent - atOnce) / perSecond) * 1000;
      // It did not run for a while: connections that were closed meanwhile are found out before they are used again.
      await pause(TICK_MS);
    }
    for (const until = Math.min(due, sent + atOnce); sent < until; sent++) {
      const one = act(sent).finally(() => underWay.delete(one));
      underWay.add(one);
    }
  }
  await Promise.all(underWay);
}
