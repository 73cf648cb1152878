/** What a running guard keeps and changes when its file is read again, and how it answers an unexpected fault. */

import { expect } from 'chai';
import type { GuardConfiguration } from '../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import {
  type Guard,
  type GuardSurroundings,
  handlerOf,
  startGuard,
} from '../../../../../adapters/sdk/tool-server/guard/guard.ts';
import { byLength } from '../../../../support/length.ts';
import { answering, heldAnswer } from '../../../../support/loopback.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';
import { decideConfiguration } from '../../../../support/tool-server/decided-app.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';
import { startServer } from '../../../../support/tool-server/served-guard.ts';
import { sendList, signList, statusMember } from '../../../../support/tool-server/status-lists.ts';

/** Of each of ten clients. */
const REQUESTS = byLength({ short: 20, full: 100 });

describe('A running guard', () => {
  const fixture = planeForEachTest();
  const { events } = fixture;
  let guard: Guard | undefined;
  afterEach(async () => {
    await guard?.stop();
    guard = undefined;
  });

  const configuration = (more: Partial<GuardConfiguration> = {}) => decideConfiguration(fixture.plane.issuer, more);
  let now: () => number;
  beforeEach(() => {
    now = () => Date.now();
  });
  async function start(): Promise<Guard> {
    const onError = (error: unknown) => {
      throw error;
    };
    const onAccess: GuardSurroundings['onAccess'] = (event) => void events.push(event);
    const started = await startGuard(configuration(), { onAccess, onError, startServer, now: () => now() });
    guard = started;
    return started;
  }

  async function ask(uri: string, method = 'GET', token = fixture.plane.token()) {
    const { status, body } = await rawRequest(`http://127.0.0.1:${guard?.address.port}/decide`, 'GET', [
      ['X-Original-Method', method],
      ['X-Original-URI', uri],
      ['Authorization', `Bearer ${token}`],
    ]);
    return body === '' ? status : `${status} ${JSON.parse(body).reason}`;
  }

  it('uses the routes of another configuration, and keeps the keys while the control plane is away', async () => {
    const { reload } = await start();
    expect(await ask('/issues/7')).to.equal(204);
    fixture.plane.answerKeys = answering({}, 503);
    const { routes } = configuration();
    expect(
      reload(configuration({ routes: routes.filter(({ match }) => match.pattern !== 'GET /issues/*') })),
    ).to.deep.equal([]);
    expect(await ask('/issues/7')).to.equal('403 unknown_route');
    expect(await ask('/boards/7')).to.equal(204);
    expect(fixture.plane.asked('/.well-known/jwks.json')).to.equal(1);
  });

  it('starts without the control plane, refuses until it comes, and goes on when it leaves', async () => {
    await fixture.plane.server.close();
    await start();
    expect(await ask('/issues/7')).to.equal('503 keys_unavailable');
    await fixture.plane.server.reopen();
    now = () => Date.now() + 2000;
    expect(await ask('/issues/7')).to.equal(204);
    await fixture.plane.server.close();
    expect(await ask('/issues/7')).to.equal(204);
    expect(await ask('/issues/7', 'DELETE')).to.equal('503 introspection_unavailable');
    expect(events.map(({ reason }) => reason)).to.deep.equal([
      'keys_unavailable',
      null,
      null,
      'introspection_unavailable',
    ]);
  });

  it('uses another audience and issuer', async () => {
    const { reload } = await start();
    reload(configuration({ audience: 'https://wiki.example' }));
    expect(await ask('/issues/7')).to.equal('401 wrong_audience');
    expect(await ask('/issues/7', 'GET', fixture.plane.token({ aud: 'https://wiki.example' }))).to.equal(204);
    reload(configuration());
    reload(configuration({ issuer: 'http://127.0.0.1:1' }));
    expect(await ask('/issues/7')).to.equal('503 keys_unavailable');
  });

  it('keeps keys and lists when other options of the list are given, and polls none without it', async () => {
    const { reload } = await start();
    const { plane } = fixture;
    const iat = Math.floor(Date.now() / 1000);
    plane.answerStatus = sendList(await signList(plane, iat, { 5: 1 }));
    // The list is newer than the tokens.
    const [ended, live] = [5, 6].map((index) => plane.token({ iat: iat - 60, status: statusMember(plane, index) }));
    expect(await ask('/issues/7', 'GET', ended)).to.equal(204);
    plane.answerKeys = answering({}, 503);
    reload(configuration({ statusList: {} }));
    expect(await ask('/issues/7', 'GET', ended)).to.equal('401 not_active');
    plane.answerStatus = answering({}, 503);
    reload(configuration({ statusList: { onStale: 'refuse' } }));
    expect(await ask('/issues/7', 'GET', ended)).to.equal('401 not_active');
    expect(await ask('/issues/7', 'GET', live)).to.equal(204);
    expect(await ask('/issues/7')).to.equal('503 status_unavailable');
    // Another age needs other polls, which fail now.
    reload(configuration({ statusList: { onStale: 'refuse', maxAgeMs: 60_000 } }));
    expect(await ask('/issues/7', 'GET', live)).to.equal('503 status_unavailable');
    reload(configuration());
    expect(await ask('/issues/7', 'GET', ended)).to.equal(204);
    expect(plane.asked('/.well-known/jwks.json')).to.equal(1);
  });

  it('changes nothing if a field needs a new process', async () => {
    const { reload } = await start();
    const routes: GuardConfiguration['routes'] = [];
    expect(reload(configuration({ routes, listen: { host: '127.0.0.1', port: 1 } }))).to.deep.equal(['listen']);
    expect(reload(configuration({ routes, metricsPort: 9 }))).to.deep.equal(['metrics_port']);
    const other = { ...configuration({ routes }), mode: 'proxy' } as GuardConfiguration;
    expect(reload(other)).to.deep.equal(['mode']);
    expect(await ask('/issues/7')).to.equal(204);
  });

  it('ends requests under the rules under which they began', async () => {
    const { reload } = await start();
    await ask('/issues/7');
    const introspection = heldAnswer(answering({ active: false }));
    fixture.plane.answerIntrospection = introspection.handler;
    const open = ask('/issues/7', 'DELETE');
    await introspection.asked;
    reload(configuration({ routes: [] }));
    expect(await ask('/issues/7')).to.equal('403 unknown_route');
    introspection.release();
    expect(await open).to.equal('401 not_active');
    expect(events.at(-1)).to.include({ route: 'DELETE /issues/*', reason: 'not_active' });
  });

  it('decides each of many requests by one configuration or the other while it changes', async () => {
    const { reload } = await start();
    await ask('/issues/7');
    const none = configuration({ routes: [] });
    const asking = Array.from({ length: 10 }, async (_, client) => {
      const answers: unknown[] = [];
      for (let at = 0; at < REQUESTS; at += 1) {
        if (client === 0 && at % 10 === 0) reload(at % 20 === 0 ? none : configuration());
        answers.push(await ask('/issues/7'));
      }
      return answers;
    });
    const answers = (await Promise.all(asking)).flat();
    expect(new Set(answers)).to.deep.equal(new Set([204, '403 unknown_route']));
    const reasons = new Set(events.map(({ route, reason }) => `${route} ${reason}`));
    expect(reasons).to.deep.equal(new Set(['GET /issues/* null', 'null unknown_route']));
  });

  it('answers an unexpected fault with 500 and no details, cuts an answer that has begun, and reports both', async () => {
    const errors: unknown[] = [];
    const mode: Parameters<typeof handlerOf>[0] = {
      async answer({ url }, response) {
        if (url === '/begun') response.write('begun');
        throw new Error(`The fault of ${url}`);
      },
      requestMs: 0,
    };
    const handler = handlerOf(mode, (error) => void errors.push((error as Error).message));
    const server = await startServer({ host: '127.0.0.1', port: 0 }, handler);
    try {
      const url = `http://127.0.0.1:${server.address.port}`;
      const { status, body, headers } = await rawRequest(`${url}/new`, 'GET', []);
      expect([status, body, headers['www-authenticate']]).to.deep.equal([500, '{"error":"server_error"}', undefined]);
      const client = await rawConnection(url);
      client.send('GET /begun HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(await client.until('never sent')).not.to.include('\r\n0\r\n');
      expect(errors).to.deep.equal(['The fault of /new', 'The fault of /begun']);
    } finally {
      await server.stop();
    }
  });
});
