/** Which scripts of other origins may read the answers of the guard. What the service answers is its own. */

import { expect } from 'chai';
import { type Guard, startGuard } from '../../../../../adapters/sdk/tool-server/guard/guard.ts';
import { decideConfiguration, matchOf } from '../../../../support/tool-server/decided-app.ts';
import { call, initialize, rpc } from '../../../../support/tool-server/guarded-messages.ts';
import { proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { type RawAnswer, rawRequest } from '../../../../support/tool-server/raw-request.ts';
import { startServer } from '../../../../support/tool-server/served-guard.ts';

const APP = 'https://app.example';
const ORIGIN = ['Origin', APP] as const;
const OPENED = [APP, 'WWW-Authenticate, Retry-After, Mcp-Session-Id', 'Origin'];
const CLOSED = [undefined, undefined, 'Origin'];
const NONE = [undefined, undefined, undefined];

const shared = ({ headers }: RawAnswer) =>
  ['access-control-allow-origin', 'access-control-expose-headers', 'vary'].map((name) => headers[name]);

describe('An answer that the guard makes itself', () => {
  const proxy = proxyForEachTest();
  const { bearer, decided } = proxy;
  const more = {
    routes: readable('GET /*', 'POST /*'),
    mcp: { path: '/mcp', tools: { read: { scope: ['jira:read'] } }, methods: {} },
    open: [matchOf('OPTIONS /mcp')],
    origins: new Set([APP, 'http://localhost:5173']),
  };
  const json = ['Content-Type', 'application/json'] as const;

  it('may be read by scripts of a listed origin, whatever it refuses', async () => {
    const url = await proxy.start((_, response) => response.destroy(), more);
    const other = bearer({ scope: 'jira:comment' });
    const answers = [
      await rawRequest(`${url}/a`, 'GET', [ORIGIN]),
      await rawRequest(`${url}/a`, 'GET', [ORIGIN, other]),
      await rawRequest(`${url}/a//b`, 'GET', [ORIGIN]),
      await rawRequest(`${url}/mcp`, 'POST', [ORIGIN, json], '{}'),
      await rawRequest(`${url}/mcp`, 'POST', [ORIGIN, json, bearer()], '{}'),
      await rawRequest(`${url}/mcp`, 'POST', [ORIGIN, json, bearer()], JSON.stringify(call('write'))),
      await rawRequest(`${url}/mcp`, 'GET', [ORIGIN, bearer(), ['Mcp-Session-Id', 'session.x']]),
      await rawRequest(`${url}/a`, 'GET', [ORIGIN, bearer()]),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([401, 403, 400, 401, 400, 403, 404, 502]);
    for (const answer of answers) expect(shared(answer), String(answer.status)).to.deep.equal(OPENED);
    expect(answers[0]?.headers['www-authenticate']).to.match(/^Bearer /);
    expect(decided()).to.have.lengthOf(8);
  });

  it('may be read by no other script, and no cache gives it to one', async () => {
    const url = await proxy.start((_, response) => response.end(), more);
    for (const origin of ['https://app.example.evil.example', 'https://app.example:8443', 'null', `${APP}, ${APP}`]) {
      expect(shared(await rawRequest(`${url}/a`, 'GET', [['Origin', origin]])), origin).to.deep.equal(CLOSED);
    }
    expect(shared(await rawRequest(`${url}/a`, 'GET', []))).to.deep.equal(CLOSED);
    await proxy.stop();
    const silent = await proxy.start((_, response) => response.end());
    expect(shared(await rawRequest(`${silent}/a`, 'GET', [ORIGIN]))).to.deep.equal(NONE);
  });

  it('leaves the headers of an answer of the service as they were, for any origin', async () => {
    const sent = ['X-A', '1', 'Vary', 'Accept', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Content-Length', '2'];
    let arrived: readonly string[] = [];
    const url = await proxy.start((request, response) => {
      const isOpen = request.method === 'OPTIONS';
      const own = isOpen ? ['Access-Control-Allow-Origin', '*'] : [];
      arrived = [...own, ...sent];
      response.writeHead(200, [...own, ...sent]).end('ok');
    }, more);
    for (const [path, method, headers] of [
      ['/a', 'GET', [ORIGIN, bearer()]],
      ['/mcp', 'OPTIONS', [ORIGIN]],
      ['/mcp', 'POST', [ORIGIN, json, bearer()]],
    ] as const) {
      const body = method === 'POST' ? JSON.stringify(rpc('ping')) : '';
      const answer = await rawRequest(`${url}${path}`, method, headers, body);
      expect(answer.body).to.equal('ok');
      expect(answer.headers['set-cookie']).to.deep.equal(['a=1', 'b=2']);
      const own = arrived.includes('Access-Control-Allow-Origin') ? '*' : undefined;
      expect(shared(answer)).to.deep.equal([own, undefined, 'Accept']);
    }
  });

  it('keeps the session of an answer that it passes on', async () => {
    const url = await proxy.start((_, response) => response.writeHead(200, { 'Mcp-Session-Id': 's' }).end('{}'), more);
    const begun = await rawRequest(`${url}/mcp`, 'POST', [ORIGIN, json, bearer()], JSON.stringify(initialize));
    expect(begun.headers['mcp-session-id']).to.match(/^s\./);
    expect(shared(begun)).to.deep.equal(NONE);
  });

  it('is the metadata for every origin, as before', async () => {
    const url = await proxy.start((_, response) => response.end(), more);
    const path = '/.well-known/oauth-protected-resource/api';
    const { status, headers } = await rawRequest(`${url}${path}`, 'GET', [ORIGIN]);
    expect([status, headers['access-control-allow-origin'], headers.vary]).to.deep.equal([200, '*', undefined]);
  });

  it('says the same in the mode decide, for gateways that pass it on, but not if the request may pass', async () => {
    const guard: Guard = await startGuard(decideConfiguration(proxy.issuer, { origins: new Set([APP]) }), {
      onAccess: () => undefined,
      onError: () => undefined,
      startServer,
    });
    try {
      const ask = (...headers: readonly (readonly [string, string])[]) =>
        rawRequest(`http://127.0.0.1:${guard.address.port}/decide`, 'GET', [
          ['X-Original-Method', 'GET'],
          ['X-Original-URI', '/issues/7'],
          ORIGIN,
          ...headers,
        ]);
      const [refused, allowed] = [await ask(), await ask(bearer())];
      expect([refused.status, shared(refused)]).to.deep.equal([401, OPENED]);
      expect([allowed.status, shared(allowed)]).to.deep.equal([204, NONE]);
    } finally {
      await guard.stop();
    }
  });
});
