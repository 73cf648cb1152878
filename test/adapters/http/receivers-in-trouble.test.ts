/** The answers of the signal receivers while storage is unavailable and after a bug, each in its own format. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express, { type Router } from 'express';
import { backchannelLogoutRouter } from '../../../adapters/http/backchannel-logout/router.ts';
import { eventsRouter } from '../../../adapters/http/events/router.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { Secret } from '../../../domain/secret.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';

const CREDENTIAL = 'a-push-credential-that-only-the-tests-know-01';
const TOKEN = 'header.payload.secret-signature';

describe('The signal receiver', () => {
  let log: CapturedLog;
  let fault: Error;
  let server: Server;
  before(async () => {
    const fails = () => Promise.reject(fault);
    const shared = {
      accept: fails,
      log: { ...capturedLog(), error: (...told: [string, unknown]) => log.error(...told) },
    };
    const events = eventsRouter({ ...shared, credentials: [new Secret(CREDENTIAL)], refuse: async () => undefined });
    server = await serve(backchannelLogoutRouter(shared), events);
  });
  beforeEach(() => {
    log = capturedLog();
  });
  after(() => server.close());

  const send = (path: string, body: string, headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method: 'POST', body, headers });

  for (const [path, type, body, code, fixed] of [
    ['/backchannel-logout', 'application/x-www-form-urlencoded', `logout_token=${TOKEN}`, 'error', 'error_description'],
    ['/events', 'application/secevent+jwt', TOKEN, 'err', 'description'],
  ] as const) {
    const headers = { 'content-type': type, authorization: `Bearer ${CREDENTIAL}` };

    it(`at ${path} answers 503 with Retry-After while the database is unavailable`, async () => {
      fault = new StorageUnavailable('lost');
      const response = await send(path, body, headers);
      expect(response.status).to.equal(503);
      expect(response.headers.get('retry-after')).to.equal('5');
      expect(response.headers.get('cache-control')).to.equal('no-store');
      const answer = (await response.json()) as Record<string, unknown>;
      expect(answer).to.have.all.keys(code, fixed);
      expect(answer[code]).to.equal('temporarily_unavailable');
    });

    it(`at ${path} answers 500 without details after a bug, and logs the bug without the token`, async () => {
      fault = new TypeError(TOKEN);
      const response = await send(path, body, headers);
      expect(response.status).to.equal(500);
      expect(response.headers.get('cache-control')).to.equal('no-store');
      expect(await response.text())
        .to.include('unexpected')
        .and.not.include(TOKEN);
      expect(log.lines).to.have.length(1);
      expect(log.lines[0]).not.to.include(TOKEN);
    });
  }
});

function serve(...routers: readonly Router[]): Promise<Server> {
  const app = express();
  for (const router of routers) app.use(router);
  const server = createServer(app);
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}
