/** The guard with a list of control planes: what the service learns, what a reload keeps, and what one cannot do to another. */

import { EventEmitter } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { approvedCalls } from '../../../../../adapters/sdk/tool-server/core/approved-calls.ts';
import type { TaskTokenClaims } from '../../../../../adapters/sdk/tool-server/core/claims.ts';
import { heldBodies } from '../../../../../adapters/sdk/tool-server/core/held-bodies.ts';
import { createToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { answering } from '../../../../support/loopback.ts';
import { makeSigningKey } from '../../../../support/signing-key.ts';
import {
  AUDIENCE,
  type FakeControlPlane,
  startFakeControlPlane,
} from '../../../../support/tool-server/control-plane.ts';
import { decideConfiguration, matchOf } from '../../../../support/tool-server/decided-app.ts';
import { initialize, rpc } from '../../../../support/tool-server/guarded-messages.ts';
import { proxyConfiguration, proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';
import { serveGuard } from '../../../../support/tool-server/served-guard.ts';

const KEYS = '/.well-known/jwks.json';
const METADATA = '/.well-known/oauth-protected-resource/api';
const mcp = { path: '/mcp', tools: { read_issue: { scope: ['jira:read'] } }, methods: {} };

describe('The guard with several control planes', () => {
  const proxy = proxyForEachTest();
  let other: FakeControlPlane;
  let seen: (readonly [path: string | undefined, issuer: unknown])[] = [];
  beforeEach(async () => {
    other = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
    seen = [];
  });
  afterEach(() => other.stop());

  const server: RequestListener = (request, response) => {
    const { rawHeaders } = request;
    const names = rawHeaders.filter((name, at) => at % 2 === 0 && /^mandate.issuer$/i.test(name));
    seen.push([request.url, names.length > 1 ? names : request.headers['mandate-issuer']]);
    request.resume().on('end', () => response.writeHead(200, { 'Mcp-Session-Id': 'session' }).end('{}'));
  };
  const rules = () => ({ routes: readable('GET /issues/*'), open: [matchOf('GET /healthz')], mcp });
  const start = (issuer: string | readonly string[]) => proxy.start(server, { ...rules(), issuer });
  const both = () => [proxy.issuer, other.issuer];
  const bearer = (plane: FakeControlPlane, claims = {}) => ['Authorization', `Bearer ${plane.token(claims)}`] as const;
  const reasons = () => proxy.events.map(({ reason, issuer }) => [reason, issuer]);
  const forged = [
    ['Mandate-Issuer', 'https://evil.example'],
    ['mandate_issuer', 'https://evil.example'],
  ] as const;

  async function ask(url: string, plane: FakeControlPlane): Promise<string> {
    const { status, body } = await rawRequest(`${url}/issues/7`, 'GET', [bearer(plane), ...forged]);
    return status === 200 ? String(seen.at(-1)?.[1]) : `${status} ${JSON.parse(body).reason}`;
  }
  const send = (url: string, plane: FakeControlPlane, body: object, session?: string) => {
    const headers = [bearer(plane), ['Content-Type', 'application/json']] as const;
    const own = session === undefined ? [] : ([['Mcp-Session-Id', session]] as const);
    return rawRequest(`${url}/mcp`, 'POST', [...headers, ...own], JSON.stringify(body));
  };

  it('names the control plane of the token to the service and in the event, and none at an open route', async () => {
    const url = await start(both());
    expect([await ask(url, proxy.plane), await ask(url, other)]).to.deep.equal(both());
    expect((await rawRequest(`${url}/healthz`, 'GET', [...forged])).status).to.equal(200);
    expect(seen.at(-1)).to.deep.equal(['/healthz', '']);
    expect(await ask(url, { ...other, token: () => other.token({ iss: 'https://evil.example' }) })).to.equal(
      '401 wrong_issuer',
    );
    expect(proxy.events.map(({ issuer, sub }) => [issuer, sub])).to.deep.equal([
      [proxy.issuer, 'ada'],
      [other.issuer, 'ada'],
      [null, null],
    ]);
  });

  it('names it to a gateway that asks, only with a list', async () => {
    const { issuer } = proxy;
    const asked: unknown[] = [];
    for (const given of [[issuer], issuer]) {
      const options = { audience: AUDIENCE, onAccess: () => undefined };
      const toolServer = createToolServer({ ...options, issuer });
      const guard = await serveGuard(toolServer, decideConfiguration(issuer, { issuer: given }));
      for (const uri of ['/issues/7', '/healthz']) {
        const question = [['X-Original-Method', 'GET'], ['X-Original-URI', uri], bearer(proxy.plane)] as const;
        const { status, headers } = await rawRequest(`${guard.url}/decide`, 'GET', question);
        asked.push([status, headers['mandate-issuer']]);
      }
      await guard.stop();
    }
    expect(asked).to.deep.equal([
      [204, issuer],
      [204, ''],
      [204, undefined],
      [204, undefined],
    ]);
  });

  it('names it with a list of one too, but not with a single text, whatever the client sends', async () => {
    expect(await ask(await start([proxy.issuer]), proxy.plane)).to.equal(proxy.issuer);
    await proxy.stop();
    const url = await start(proxy.issuer);
    expect(await ask(url, proxy.plane)).to.equal('undefined');
    await rawRequest(`${url}/healthz`, 'GET', [...forged]);
    expect(seen.at(-1)).to.deep.equal(['/healthz', undefined]);
    expect(proxy.events.map((event) => 'issuer' in event)).to.deep.equal([true, false]);
  });

  it('lists all of them in its metadata, in their order', async () => {
    const url = await start([`${other.issuer}/`, proxy.issuer]);
    const { body } = await rawRequest(`${url}${METADATA}`, 'GET', []);
    expect(JSON.parse(body).authorization_servers).to.deep.equal([other.issuer, proxy.issuer]);
  });

  it('reports each control plane that is away, and passes on the requests of the others', async () => {
    const url = await start(both());
    await other.server.close();
    expect([await ask(url, other), await ask(url, proxy.plane)]).to.deep.equal(['503 keys_unavailable', proxy.issuer]);
    await proxy.plane.server.close();
    const highRisk = { introspect_required: true };
    const { status } = await rawRequest(`${url}/issues/7`, 'GET', [bearer(proxy.plane, highRisk)]);
    expect(status).to.equal(503);
    expect(proxy.errors).to.have.lengthOf(2);
    for (const [at, issuer] of [other.issuer, proxy.issuer].entries()) expect(proxy.errors[at]).to.include(issuer);
    expect(reasons()).to.deep.equal([
      ['keys_unavailable', null],
      [null, proxy.issuer],
      ['introspection_unavailable', proxy.issuer],
    ]);
  });

  it('leaves a session of MCP to the control plane, person and agent that began it', async () => {
    const url = await start(both());
    const session = String((await send(url, proxy.plane, initialize)).headers['mcp-session-id']);
    expect((await send(url, other, rpc('ping'), session)).status).to.equal(404);
    expect(reasons().at(-1)).to.deep.equal(['unknown_tool', other.issuer]);
    expect((await send(url, proxy.plane, rpc('ping'), session)).status).to.equal(200);
    expect(seen.at(-1)).to.deep.equal(['/mcp', proxy.issuer]);
  });

  it('keeps at a reload the keys and sessions of control planes that stay, also from a single text to a list and back', async () => {
    const url = await start(proxy.issuer);
    const session = String((await send(url, proxy.plane, initialize)).headers['mcp-session-id']);
    const upstream = await proxy.upstreamOf(server);
    const reload = (issuer: string | readonly string[]) =>
      expect(proxy.guard.reload(proxyConfiguration(proxy.issuer, upstream, { ...rules(), issuer }))).to.deep.equal([]);
    proxy.plane.answerKeys = answering({}, 503);
    const inSession = async () => (await send(url, proxy.plane, rpc('ping'), session)).status;

    reload(both());
    expect([await ask(url, proxy.plane), await ask(url, other)]).to.deep.equal(both());
    expect(await inSession()).to.equal(200);
    const { body } = await rawRequest(`${url}${METADATA}`, 'GET', []);
    expect(JSON.parse(body).authorization_servers).to.deep.equal(both());

    reload([other.issuer, proxy.issuer]);
    expect([await ask(url, other), await inSession()]).to.deep.equal([other.issuer, 200]);
    reload(proxy.issuer);
    expect([await ask(url, proxy.plane), await inSession()]).to.deep.equal(['undefined', 200]);
    expect([proxy.plane.asked(KEYS), other.asked(KEYS)]).to.deep.equal([1, 1]);

    // One that left is asked again when it comes back: its keys may have changed meanwhile.
    reload([other.issuer]);
    expect(await ask(url, proxy.plane)).to.equal('401 wrong_issuer');
    reload(both());
    expect(await ask(url, proxy.plane)).to.equal('503 keys_unavailable');
    const refused = reasons().filter(([reason]) => reason !== null);
    expect(refused).to.deep.equal([
      ['wrong_issuer', null],
      ['keys_unavailable', null],
    ]);
  });

  it('logs the control plane of a call that cannot be shown to a person, only with a list', async () => {
    const approval = { title: 'Close', lines: [{ label: 'Key', path: ['key'] }] };
    const routes = [{ match: matchOf('POST /close'), scope: ['jira:read'], approval }];
    const { privateJwk } = await makeSigningKey('ES256');
    const asking = { ...rules(), routes, approvalKey: { jwk: privateJwk } };
    for (const issuer of [both(), proxy.issuer]) {
      const url = await proxy.start(server, { ...asking, issuer });
      const headers = [bearer(proxy.plane), ['Content-Type', 'application/json']] as const;
      expect((await rawRequest(`${url}/close`, 'POST', headers, '{}')).status).to.equal(403);
      await proxy.stop();
    }
    expect(proxy.unshown.map((shown) => shown.issuer)).to.deep.equal([proxy.issuer, undefined]);
    expect(proxy.unshown.map((shown) => Object.keys(shown).length)).to.deep.equal([4, 3]);
    expect(reasons()).to.deep.equal([
      ['arguments_refused', proxy.issuer],
      ['arguments_refused', undefined],
    ]);
  });

  it('refuses a token that names one control plane and was signed by another', async () => {
    const url = await start(both());
    const key = await makeSigningKey('ES256');
    other.key = { ...key, kid: proxy.plane.key.kid };
    const { status, body } = await rawRequest(`${url}/issues/7`, 'GET', [bearer(other, { iss: proxy.issuer })]);
    expect([status, JSON.parse(body).reason]).to.deep.equal([401, 'invalid_signature']);
    expect(reasons()).to.deep.equal([['invalid_signature', null]]);
    expect(other.server.received).to.deep.equal([]);
  });
});

const [A, B] = ['https://a.example', 'https://b.example'] as const;
const of = (iss: string, agent: string) =>
  ({ iss, sub: 'ada', act: { sub: `agent:${agent}`, depth: 1 } }) as unknown as TaskTokenClaims;

describe('A call that a person approved', () => {
  it('runs in the session of its control plane, and not in that of another one with the same person and agent', () => {
    const calls = approvedCalls();
    const call = calls.of('session', of(A, 'a')).begin(1);
    expect([A, B].map((iss) => calls.of('session', of(iss, 'a')).isRunning())).to.deep.equal([true, false]);
    call.end();
    expect(calls.of('session', of(A, 'a')).isRunning()).to.equal(false);
  });
});

describe('The permits of held bodies', () => {
  const response = () => new EventEmitter() as unknown as ServerResponse;

  it('remain for the others: with several control planes, the agents of one cannot take all', () => {
    const held = heldBodies();
    const hold = (claims: TaskTokenClaims, issuers: readonly string[]) =>
      held.hold(claims, { maxHeldBodies: 8, issuers }, response()) !== undefined;
    const agents = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(agents.map((agent) => hold(of(A, agent), [A, B]))).to.deep.equal([true, true, true, true, false, false]);
    expect(agents.map((agent) => hold(of(B, agent), [A, B])).slice(0, 3)).to.deep.equal([true, true, false]);
  });

  it('are counted for each agent only, if there is one control plane', () => {
    const held = heldBodies();
    const hold = (iss: string, agent: string, among = held) =>
      among.hold(of(iss, agent), { maxHeldBodies: 4, issuers: [A] }, response()) !== undefined;
    const other = heldBodies();
    expect(['a', 'b', 'c', 'd'].map((agent) => hold(A, agent, other))).to.deep.equal([true, true, true, true]);
    // Another control plane may give its agent the same name.
    expect([A, A, A, B, B].map((iss) => hold(iss, 'a'))).to.deep.equal([true, true, false, true, false]);
  });
});
