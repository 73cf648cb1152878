/**
 * What is special at `mcp.path` of the proxy. The rules of the library are tested there too: `../mcp/mcp.test.ts`,
 * `../mcp/sessions.test.ts` and `../core/refusals.test.ts`.
 */

import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { byLength } from '../../../../support/length.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { AUDIENCE, startFakeControlPlane } from '../../../../support/tool-server/control-plane.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { call, initialize, rpc } from '../../../../support/tool-server/guarded-messages.ts';
import { proxyConfiguration, proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const MIB = 1024 * 1024;
const mcp = { path: '/mcp', tools: { read_issue: { scope: ['jira:read'] } }, methods: {} };
const JSON_TYPE = ['Content-Type', 'application/json'] as const;

describe('The MCP endpoint of the proxy', () => {
  const proxy = proxyForEachTest();
  const { bearer, decided, events } = proxy;
  const seen: (readonly [line: string, body: string, session: unknown])[] = [];
  beforeEach(() => {
    seen.length = 0;
  });

  /** Gives every client the same session. */
  const server: RequestListener = async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    seen.push([`${request.method} ${request.url}`, body, request.headers['mcp-session-id']]);
    response.writeHead(200, { 'Mcp-Session-Id': 'session' }).end('{}');
  };
  const start = (more = {}) => proxy.start(server, { routes: readable('GET /*', 'POST /*'), mcp, ...more });

  it('gets the bytes of the message as they were sent', async () => {
    const url = await start();
    const body = JSON.stringify(call('read_issue', { arguments: { text: 'é' } })).replace(
      '"é"',
      ' 12345678901234567890 ',
    );
    expect((await rawRequest(`${url}/mcp?a=b`, 'POST', [bearer(), JSON_TYPE], body)).status).to.equal(200);
    expect(seen).to.deep.equal([['POST /mcp?a=b', body, undefined]]);
    expect(decided()).to.deep.equal([['read_issue', 'allow', null]]);
  });

  const other: readonly (readonly [
    what: string,
    status: number,
    method: string,
    headers: readonly (readonly [string, string])[],
  ])[] = [
    ['in a charset that hides another message', 415, 'POST', [['Content-Type', 'application/json; charset=utf-7']]],
    ['in two charsets', 415, 'POST', [['Content-Type', 'application/json; charset=utf-8; charset=utf-7']]],
    ['of two types', 415, 'POST', [JSON_TYPE, ['content-type', 'application/json']]],
    ['that is a form', 415, 'POST', [['Content-Type', 'application/x-www-form-urlencoded']]],
    ['whose type stays here', 415, 'POST', [JSON_TYPE, ['Connection', 'content-type']]],
    ['that is compressed', 415, 'POST', [JSON_TYPE, ['Content-Encoding', 'gzip']]],
    ['of a GET', 400, 'GET', [JSON_TYPE]],
    ['of a DELETE', 400, 'DELETE', [JSON_TYPE]],
    ['of a PUT', 400, 'PUT', [JSON_TYPE]],
  ];
  for (const [what, status, method, headers] of other) {
    it(`refuses a body ${what} with ${status}`, async () => {
      const url = await start();
      const answer = await rawRequest(`${url}/mcp`, method, [bearer(), ...headers], JSON.stringify(rpc('ping')));
      expect(answer.status).to.equal(status);
      expect(seen).to.deep.equal([]);
      expect(decided()).to.deep.equal([[null, 'deny', status === 415 ? 'unknown_tool' : 'malformed_request']]);
    });
  }

  const subscription = (notifications: object) => rpc('subscriptions/listen', { notifications });
  for (const [what, message] of [
    ['a method', { ...rpc('ping'), Method: 'tools/call' }],
    ['parameters', { ...call('read_issue'), 'param\u017f': { name: 'delete_issue' } }],
    ['the name of a tool', call('read_issue', { NAME: 'delete_issue' })],
    ['resources', subscription({ toolsListChanged: true, ResourceSubscriptions: ['jira://boards/1'] })],
  ] as const) {
    it(`refuses ${what} in other letters, which some servers would read, with a protocol error`, async () => {
      const url = await start();
      const answer = await rawRequest(`${url}/mcp`, 'POST', [bearer(), JSON_TYPE], JSON.stringify(message));
      expect([answer.status, JSON.parse(answer.body).error.code]).to.deep.equal([400, -32600]);
      expect([seen, decided()]).to.deep.equal([[], [[null, 'deny', 'unknown_tool']]]);
    });
  }

  it('refuses the address of a resource in other letters only beside the header that names it', async () => {
    const url = await start({ mcp: { ...mcp, methods: { 'resources/read': { scope: ['jira:read'] } } } });
    const body = JSON.stringify(rpc('resources/read', { uri: 'jira://1', URI: 'jira://2' }));
    const send = async (headers: readonly (readonly [string, string])[]) =>
      (await rawRequest(`${url}/mcp`, 'POST', [bearer(), JSON_TYPE, ...headers], body)).status;
    expect([await send([]), await send([['Mcp-Name', 'jira://1']])]).to.deep.equal([200, 400]);
    expect(seen).to.have.lengthOf(1);
    expect(decided()).to.deep.equal([
      ['MCP resources/read', 'allow', null],
      [null, 'deny', 'unknown_tool'],
    ]);
  });

  it('accepts UTF-8 by its name, and a body of 1 MiB, and none that is longer', async () => {
    const url = await start();
    const headers = Object.fromEntries([bearer(), ['Content-Type', 'application/json; charset="UTF-8"']]);
    const ping = JSON.stringify(rpc('ping'));
    const statuses: number[] = [];
    for (const length of [MIB, MIB + 1]) {
      const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body: ping.padEnd(length) });
      statuses.push(answer.status);
      await answer.text();
    }
    expect(statuses).to.deep.equal([200, 413]);
    expect(seen).to.have.lengthOf(1);
    expect(decided()).to.deep.equal([
      ['MCP ping', 'allow', null],
      [null, 'deny', 'unknown_tool'],
    ]);
  });

  it('accepts a file as long as max_body_bytes says, and refuses a longer body with 413, also after a reload', async () => {
    const length = byLength({ short: 2, full: 16 }) * MIB;
    const url = await start({ maxBodyBytes: length });
    const headers = Object.fromEntries([bearer(), JSON_TYPE]);
    const file = JSON.stringify(call('read_issue', { arguments: { file: 'A'.repeat(length - MIB) } }));
    const send = async (body: string) => {
      const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body });
      return [answer.status, await answer.text()];
    };
    expect((await send(file.padEnd(length)))[0]).to.equal(200);
    expect(seen.at(-1)?.[1].length).to.equal(length);
    expect(JSON.parse(String((await send(file.padEnd(length + 1)))[1])).error.message).to.include(`${length} bytes`);
    const upstream = await proxy.upstreamOf(server);
    expect(proxy.guard.reload(proxyConfiguration(proxy.issuer, upstream, { mcp, maxBodyBytes: 100 }))).to.deep.equal(
      [],
    );
    expect((await send(JSON.stringify(rpc('ping')).padEnd(101)))[0]).to.equal(413);
    expect((await send(JSON.stringify(rpc('ping')).padEnd(100)))[0]).to.equal(200);
    expect(decided().map(([route, , reason]) => [route, reason])).to.deep.equal([
      ['read_issue', null],
      [null, 'unknown_tool'],
      [null, 'unknown_tool'],
      ['MCP ping', null],
    ]);
  });

  it('asks for the body of a client that waits only if there is a token', async () => {
    const url = await start();
    const body = JSON.stringify(rpc('ping'));
    const head = (token: string) =>
      `POST /mcp HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n${token}\r\n`;
    const [stranger, client] = [await rawConnection(url), await rawConnection(url)];
    stranger.send(head(''));
    expect(await stranger.until('missing_token')).to.match(/^HTTP\/1\.1 401 /);
    client.send(head(`${bearer().join(': ')}\r\n`));
    expect(await client.until('\r\n\r\n')).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
    client.send(body);
    expect(await client.until('{}')).to.match(/\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    for (const each of [stranger, client]) each.leave();
  });

  it('is not reached by another path that a server could take for it, unless a pattern names that path', async () => {
    const url = await start({ routes: readable('POST /*', 'POST /mcp/health', 'GET /mcp/*') });
    const paths = ['/MCP', '/mcp/', '/Mcp;a=b', '/mcp;a/', '/mcp/messages', '/mcp.json', '/mcp%20', '/m%C3%A7p'];
    const statuses: unknown[] = [];
    for (const path of paths) statuses.push((await rawRequest(`${url}${path}`, 'POST', [bearer()], '{}')).status);
    expect(statuses).to.deep.equal([...Array(7).fill(403), 200]);
    expect(events.slice(0, 7).map(({ reason }) => reason)).to.deep.equal(Array(7).fill('unknown_route'));
    expect((await rawRequest(`${url}/mcp/health`, 'POST', [bearer()], '{}')).status).to.equal(200);
    expect((await rawRequest(`${url}/mcp/any`, 'GET', [bearer()])).status).to.equal(200);
    expect(seen.map(([line]) => line)).to.deep.equal(['POST /m%C3%A7p', 'POST /mcp/health', 'GET /mcp/any']);
  });

  it('is not reached without a token by another path, unless an open pattern names that path', async () => {
    const url = await start({ routes: [], open: [matchOf('POST /*'), matchOf('GET /mcp/health')] });
    const send = async (method: string, path: string) => (await rawRequest(`${url}${path}`, method, [])).status;
    expect([await send('POST', '/MCP'), await send('POST', '/mcp/messages')]).to.deep.equal([401, 401]);
    expect([await send('POST', '/other'), await send('GET', '/mcp/health')]).to.deep.equal([200, 200]);
    expect(seen.map(([line]) => line)).to.deep.equal(['POST /other', 'GET /mcp/health']);
  });

  it('gets the preflight of a browser without a token, if an open pattern names its path, and nothing else', async () => {
    const origin = ['Origin', 'https://app.example'] as const;
    const asked = [origin, ['Access-Control-Request-Method', 'POST'] as const];
    const ask = async (url: string, method: string, headers: readonly (readonly [string, string])[], body?: string) =>
      (await rawRequest(`${url}/mcp`, method, headers, body)).status;
    const url = await start({ open: [matchOf('OPTIONS /mcp'), matchOf('GET /mcp')] });
    expect(await ask(url, 'OPTIONS', asked)).to.equal(200);
    expect([seen, decided()]).to.deep.equal([[['OPTIONS /mcp', '', undefined]], []]);
    const refused = [
      await ask(url, 'GET', [origin]),
      await ask(url, 'POST', [origin, JSON_TYPE], '{}'),
      // No browser sends these with a preflight.
      await ask(url, 'OPTIONS', asked, '{}'),
      await ask(url, 'OPTIONS', [...asked, ['Mcp-Session-Id', 'session']]),
      (await rawRequest(`${url}/MCP`, 'OPTIONS', asked)).status,
    ];
    expect(refused).to.deep.equal([401, 401, 400, 401, 401]);
    expect(decided()).to.have.lengthOf(5);
    await proxy.stop();
    const closed = await start({ open: [matchOf('OPTIONS /*')] });
    expect(await ask(closed, 'OPTIONS', asked)).to.equal(401);
    expect(seen).to.have.lengthOf(1);
  });

  it('has none of the sessions of an earlier guard, and clients begin new ones', async () => {
    const send = (url: string, body: object, ...session: readonly (readonly [string, string])[]) =>
      rawRequest(`${url}/mcp`, 'POST', [bearer(), JSON_TYPE, ...session], JSON.stringify(body));
    const first = await start();
    const session = ['Mcp-Session-Id', String((await send(first, initialize)).headers['mcp-session-id'])] as const;
    expect((await send(first, rpc('ping'), session)).status).to.equal(200);
    await proxy.stop();
    const second = await start();
    expect((await send(second, rpc('ping'), session)).status).to.equal(404);
    expect(decided().at(-1)).to.deep.equal(['MCP ping', 'deny', 'unknown_tool']);
    expect((await send(second, initialize)).status).to.equal(200);
  });

  it('keeps the sessions at a reload, with its new policies, but not for another audience or control plane', async () => {
    const url = await start();
    const send = async (body: object, headers: readonly (readonly [string, string])[], claims = {}) =>
      rawRequest(`${url}/mcp`, 'POST', [bearer(claims), JSON_TYPE, ...headers], JSON.stringify(body));
    const session = String((await send(initialize, [])).headers['mcp-session-id']);
    expect(session).to.match(/^session\.[\w-]{43}$/);
    const inSession = [['Mcp-Session-Id', session] as const];
    const tools = { read_issue: { scope: ['jira:comment'] } };
    const upstream = await proxy.upstreamOf(server);
    const reload = (more: object) => proxy.guard.reload(proxyConfiguration(proxy.issuer, upstream, more));
    expect(reload({ mcp: { ...mcp, tools } })).to.deep.equal([]);
    expect((await send(rpc('ping'), inSession)).status).to.equal(200);
    expect(seen.at(-1)).to.deep.equal(['POST /mcp', JSON.stringify(rpc('ping')), 'session']);
    expect((await send(call('read_issue'), inSession, { scope: 'jira:read' })).status).to.equal(403);
    expect(decided().at(-1)).to.deep.equal(['read_issue', 'deny', 'insufficient_scope']);
    const audience = `${AUDIENCE}/2`;
    expect(reload({ mcp, audience })).to.deep.equal([]);
    expect((await send(rpc('ping'), inSession, { aud: audience })).status).to.equal(404);
    expect((await send(rpc('ping'), [], { aud: audience })).status).to.equal(200);
    expect(reload({ mcp })).to.deep.equal([]);
    const own = String((await send(initialize, [])).headers['mcp-session-id']);
    expect((await send(rpc('ping'), [['Mcp-Session-Id', own]])).status).to.equal(200);
    const other = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
    try {
      proxy.guard.reload(proxyConfiguration(other.issuer, upstream, { mcp }));
      const authorization = ['Authorization', `Bearer ${other.token()}`] as const;
      const headers = [authorization, JSON_TYPE, ['Mcp-Session-Id', own] as const];
      const answer = await rawRequest(`${url}/mcp`, 'POST', headers, JSON.stringify(rpc('ping')));
      expect([answer.status, decided().at(-1)]).to.deep.equal([404, ['MCP ping', 'deny', 'unknown_tool']]);
    } finally {
      await other.stop();
    }
  });
});
