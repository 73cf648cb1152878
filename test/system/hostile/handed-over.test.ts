/** A worker's connections are those that its primary accepted: clients may take no longer there than anywhere. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { variableOf } from '../../../composition/settings/setting-error.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { asProgram } from '../../../scripts/from-source.ts';
import { freshDatabase } from '../../support/databases.ts';
import { converse } from '../../support/hostile/raw-conversation.ts';
import { expectRefused, wholeRegistration } from '../../support/hostile/untouched.ts';
import { ADMIN_KEY } from '../../support/mandate.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const FLEET = fileURLToPath(new URL('../../support/hostile/hasty-fleet.ts', import.meta.url));

interface Fleet {
  readonly child: ChildProcess;
  readonly url: string;
  stop(): Promise<void>;
}

async function startFleet(surroundings: Readonly<Record<string, string>> = {}): Promise<Fleet> {
  const database = await freshDatabase('sqlite');
  const port = await freePort();
  const settings = {
    ...{ 'Service:Issuer': 'https://mandate.test', 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' },
    ...{ 'Service:UpstreamIdp:Audience': 'https://mandate.test', 'Service:UpstreamIdp:SponsorCheck:Mode': 'signals' },
    ...{ 'Service:Admin:ApiKey': ADMIN_KEY, NODE_ENV: 'development', PORT: String(port) },
    ...database.settings,
    ...sharedSigningKey(),
  };
  const variables = Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableOf(key), value]));
  const env = { PATH: process.env.PATH, ...variables, ...surroundings };
  const child = spawn(process.execPath, [...asProgram(FLEET)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ready = await once(child.stdout, 'data');
  expect(String(ready[0])).to.match(/serving/);
  return {
    child,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const gone = once(child, 'close');
      child.kill('SIGTERM');
      await gone;
      await database.drop();
    },
  };
}

describe('connections that were handed over to a worker whose limits are short', function () {
  this.timeout(120_000);
  let fleet: Fleet;
  before(async () => {
    fleet = await startFleet({ HASTY: 'yes' });
  });
  after(() => fleet.stop());

  for (const [what, first, rest] of [
    ['heads', 'GET / HTTP/1.1\r\nX: ', 'x'],
    [
      'forms',
      'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 999\r\n\r\n',
      'x',
    ],
  ] as const) {
    it(`have to bring ${what} in time`, async () => {
      const began = performance.now();
      const connection = await rawConnection(fleet.url);
      connection.send(first);
      const timer = setInterval(() => connection.send(rest), 25);
      const text = await connection.until('\r\n\r\n');
      clearInterval(timer);
      connection.leave();
      expect(text).to.match(/^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n/);
      // The usual limits begin at ten seconds.
      expect(performance.now() - began).to.be.within(250, 8000);
    });
  }
});

describe('connections that were handed over to a worker', function () {
  this.timeout(120_000);
  let fleet: ChildProcess;
  let url: string;
  let stop: Fleet['stop'];
  before(async () => {
    ({ child: fleet, url, stop } = await startFleet());
  });
  after(() => stop());

  it('are served, and refused, as any', async () => {
    const { answers } = await converse(url, wholeRegistration() + wholeRegistration('Connection: close\r\n'));
    expect(answers.map(({ status }) => status)).to.deep.equal([201, 201]);
    expectRefused(await converse(url, `nonsense\r\n\r\n${wholeRegistration()}`));
    expectRefused(await converse(url, wholeRegistration().replace('/admin', 'http://x/admin')));
  });

  const worker = () => {
    const { pid } = fleet;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
  };

  it('wait for a worker that does not take them, a thousand of them; one more is closed', async function () {
    if (process.platform !== 'linux') this.skip();
    const hanging = worker();
    process.kill(hanging, 'SIGSTOP');
    const { hostname: host, port } = new URL(url);
    const clients = Array.from({ length: 1_200 }, () => connect({ host, port: Number(port) }));
    let closed = 0;
    for (const client of clients) {
      client.on('error', () => undefined);
      client.on('close', () => {
        closed += 1;
      });
    }
    // A worker that hangs is killed after ten seconds.
    const until = performance.now() + 8_000;
    while (closed < 190 && performance.now() < until) await pause(20);
    await pause(100);
    // Beside those that wait, one or two have been sent to it already.
    expect(closed).to.be.within(190, 200);
    process.kill(hanging, 'SIGCONT');
    for (const client of clients) client.destroy();
    expect((await fetch(`${url}/healthz`, { headers: { connection: 'close' } })).status).to.equal(200);
  });

  it('are served again once the system has room for another worker', async function () {
    if (process.platform !== 'linux') this.skip();
    const limit = (descriptors: number) =>
      execFileSync('prlimit', ['--pid', String(fleet.pid), `--nofile=${descriptors}:4096`]);
    limit(readdirSync(`/proc/${fleet.pid}/fd`).length);
    process.kill(worker(), 'SIGKILL');
    // The first replacement is due after half a second.
    await pause(800);
    expect(fleet.exitCode).to.equal(null);
    limit(4096);
    expect((await fetch(`${url}/healthz`, { headers: { connection: 'close' } })).status).to.equal(200);
  });
});
