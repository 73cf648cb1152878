/** A worker's connections are those that its primary accepted: clients may take no longer there than anywhere. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { variableOf } from '../../../composition/settings/setting-error.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { fromSource } from '../../../scripts/from-source.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { converse } from '../../support/hostile/raw-conversation.ts';
import { expectRefused, wholeRegistration } from '../../support/hostile/untouched.ts';
import { ADMIN_KEY } from '../../support/mandate.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const FLEET = fileURLToPath(new URL('../../support/hostile/hasty-fleet.ts', import.meta.url));

describe('connections that were handed over to a worker', () => {
  let database: FreshDatabase;
  let fleet: ChildProcess;
  let url: string;
  before(async () => {
    database = await freshDatabase('sqlite');
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const settings = {
      ...{ 'Service:Issuer': 'https://mandate.test', 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' },
      ...{ 'Service:UpstreamIdp:Audience': 'https://mandate.test', 'Service:UpstreamIdp:SponsorCheck:Mode': 'signals' },
      ...{ 'Service:Admin:ApiKey': ADMIN_KEY, NODE_ENV: 'development', PORT: String(port) },
      ...database.settings,
      ...sharedSigningKey(),
    };
    const environment = Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableOf(key), value]));
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];
    fleet = spawn(process.execPath, [...fromSource, FLEET], { env: { PATH: process.env.PATH, ...environment }, stdio });
    const ready = fleet.stdout === null ? [] : await once(fleet.stdout, 'data');
    expect(String(ready[0])).to.match(/serving/);
  });
  after(async () => {
    const gone = once(fleet, 'close');
    fleet.kill('SIGTERM');
    await gone;
    await database.drop();
  });

  for (const [what, first, rest] of [
    ['heads', 'GET / HTTP/1.1\r\nX: ', 'x'],
    [
      'forms',
      'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 999\r\n\r\n',
      'x',
    ],
  ] as const) {
    it(`have to bring ${what} in time`, async () => {
      const connection = await rawConnection(url);
      const began = performance.now();
      connection.send(first);
      const timer = setInterval(() => connection.send(rest), 25);
      const text = await connection.until('\r\n\r\n');
      clearInterval(timer);
      connection.leave();
      expect(text).to.match(/^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n/);
      expect(performance.now() - began).to.be.within(250, 4000);
    });
  }

  it('are served, and refused, as any', async () => {
    const { answers } = await converse(url, wholeRegistration() + wholeRegistration('Connection: close\r\n'));
    expect(answers.map(({ status }) => status)).to.deep.equal([201, 201]);
    expectRefused(await converse(url, `nonsense\r\n\r\n${wholeRegistration()}`));
    expectRefused(await converse(url, wholeRegistration().replace('/admin', 'http://x/admin')));
  });
});
