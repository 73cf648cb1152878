/**
 * The process of the load generator. It also runs the identity provider and the transmitter. It registers its agents,
 * sends mixed load (actions.ts, over session.ts), and writes every operation to a file. driver.ts starts and stops it
 * from the run.
 */

import { createWriteStream } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { startIdentityProvider } from '../../../test/support/identity-provider/identity-provider.ts';
import { askingServer } from '../../../test/support/tool-server/approval-request.ts';
import { startTransmitter } from '../../../test/support/transmitter.ts';
import {
  AUDIENCE,
  agentRequests,
  approvalRequests,
  approvalSettings,
  makeLoadAgent,
  operatorRequests,
  signalRequests,
} from '../../requests.ts';
import type { Operation } from '../operations.ts';
import { seeded } from '../random.ts';
import { randomOperation } from './actions.ts';
import type { DriverMessage, LoadOptions, Rate, Ready } from './driver.ts';
import { openSession } from './session.ts';

const AGENTS = 6;
/** The pause after a request without a response, because a restarting process needs the CPU. */
const UNANSWERED_PAUSE_MS = 50;
const REGISTRATION_ATTEMPTS = 40;
/** Requests are sent in small groups, because a timer for each would use most of the CPU. */
const TICK_MS = 5;
/** The maximum size of a group: the requests of this many seconds. */
const GROUP_SECONDS = 0.1;

const provider = await startIdentityProvider({ algorithm: 'ES256' });
const transmitter = await startTransmitter();
let issuer = '';
const toolServer = await askingServer(AUDIENCE, { issuer: () => issuer, now: () => Math.floor(Date.now() / 1000) });
const agents = await Promise.all(Array.from({ length: AGENTS }, makeLoadAgent));

let isStopped = false;
let answered = 0;
/** If set, replaces the fixed number of concurrent requests. */
let rate: Rate | undefined;

process.on('message', (message: DriverMessage) => {
  if (message.kind === 'load') void load(message.options);
  else if (message.kind === 'rate') rate = message.rate;
  else if (message.kind === 'count') process.send?.(answered);
  else isStopped = true;
});
const ready: Ready = {
  settings: {
    ...transmitter.settings,
    ...approvalSettings(toolServer),
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
  },
  agents: agents.map(({ id }) => id),
};
process.send?.(ready);

async function load(options: LoadOptions): Promise<void> {
  issuer = options.issuer;
  const keptAlive = openSession(options.urls);
  const fresh = openSession(options.urls, { keepAlive: false });
  const operator = operatorRequests(options.adminKey);
  for (const agent of agents) {
    for (let attempt = 1; (await keptAlive.send(operator.register(agent))).status !== 201; attempt++) {
      if (attempt === REGISTRATION_ATTEMPTS) throw new Error('an agent could not be registered');
      await pause(UNANSWERED_PAUSE_MS);
    }
  }
  const file = createWriteStream(options.file);
  const write = (operation: Operation) => {
    file.write(`${JSON.stringify(operation)}\n`);
    answered += 1;
  };
  const requests = {
    ...agentRequests(options.issuer, provider),
    ...operator,
    ...signalRequests(provider, transmitter),
    ...approvalRequests(toolServer, provider),
  };
  const random = seeded(options.seed);
  const act = randomOperation({ requests, agents, random, session: keptAlive, write });
  const actFresh = randomOperation({
    requests,
    agents,
    random,
    session: fresh,
    write: (operation) => write({ ...operation, newConnection: true }),
  });
  rate = options.rate;
  process.send?.('loading');

  const work = async () => {
    while (!isStopped && rate === undefined) {
      if (!(await act())) await pause(UNANSWERED_PAUSE_MS);
      if (options.pauseMs > 0) await pause(options.pauseMs);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  const isFresh = (nth: number) => rate?.newConnections === true && nth % 2 === 0;
  if (rate !== undefined) await atRate(rate.perSecond, (nth) => (isFresh(nth) ? actFresh() : act()));
  keptAlive.close();
  fresh.close();
  await new Promise((written) => file.end(written));
  process.send?.('stopped');
}

/**
 * Starts operations at a fixed rate, whether or not earlier ones are answered. If this process was too slow, it skips late
 * operations, because a burst of them would be another kind of load.
 */
async function atRate(perSecond: number, act: (nth: number) => Promise<boolean>): Promise<void> {
  const underWay = new Set<Promise<boolean>>();
  const most = Math.ceil(perSecond * GROUP_SECONDS);
  let began = performance.now();
  for (let sent = 0; !isStopped; await pause(TICK_MS)) {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
    if (due - sent > most) {
      began += ((due - sent - most) / perSecond) * 1000;
      // This process was suspended. It first reads which connections the service has closed meanwhile.
      await pause(TICK_MS);
    }
    for (const until = Math.min(due, sent + most); sent < until; sent++) {
      const one = act(sent).finally(() => underWay.delete(one));
      underWay.add(one);
    }
  }
  await Promise.all(underWay);
}
