/** What the proxy passes on, and what it refuses. `proxy-streams.test.ts` has the bodies. */

import { request as httpRequest, type RequestListener, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../../../support/eventually.ts';
import { sendBytes } from '../../../../support/hostile/send-bytes.ts';
import { heldAnswer } from '../../../../support/loopback.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { AUDIENCE, TASK_ID } from '../../../../support/tool-server/control-plane.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { proxyConfiguration, proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const METADATA = `/.well-known/oauth-protected-resource${new URL(AUDIENCE).pathname}`;

interface Seen {
  readonly line: string;
  readonly headers: readonly string[];
  readonly body: string;
}

describe('The guard in its mode proxy', () => {
  const proxy = proxyForEachTest();
  const { events, errors, bearer, decided } = proxy;
  const seen: Seen[] = [];
  beforeEach(() => {
    seen.length = 0;
  });

  const recording: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    seen.push({ line: `${request.method} ${request.url}`, headers: request.rawHeaders, body });
    response.end('answered');
  };
  const IDENTITY = [
    ...['Mandate-Subject', 'ada', 'Mandate-Agent', 'agent:triage', 'Mandate-Task', TASK_ID],
    ...['Mandate-Scope', 'jira:read jira:comment'],
  ];
  /** Node's own. */
  const connection = (headers: readonly string[]) =>
    headers.filter((name, at) => (at % 2 === 0 ? name : (headers[at - 1] ?? '')).toLowerCase() !== 'connection');

  it('passes an allowed request on as it was sent, with who acts for whom in place of the token', async () => {
    const url = await proxy.start(recording);
    const answer = await rawRequest(
      `${url}/issues/7;a=b?q=%20//../%2e&Q=é`.replace('é', '%E9'),
      'POST',
      [
        ...[['X-One', '1'] as const, ['x-one', '2'] as const, ['Cookie', 'a=b'] as const, ['X_Id', 'a'] as const],
        bearer(),
        ['X-Forwarded-For', '192.0.2.1'],
      ],
      'the body',
    );
    expect([answer.status, answer.body]).to.deep.equal([200, 'answered']);
    const host = new URL(url).host;
    expect(seen.map(({ headers, ...rest }) => ({ ...rest, headers: connection(headers) }))).to.deep.equal([
      {
        line: 'POST /issues/7;a=b?q=%20//../%2e&Q=%E9',
        headers: [
          ...['Host', host, ...IDENTITY, 'X-One', '1', 'x-one', '2', 'Cookie', 'a=b', 'X_Id', 'a'],
          ...['X-Forwarded-For', '192.0.2.1', 'Content-Length', '8'],
        ],
        body: 'the body',
      },
    ]);
    expect(decided()).to.deep.equal([['POST /*', 'allow', null]]);
  });

  const dropped: readonly (readonly [string, string])[] = [
    ['Mandate-Subject', 'eve'],
    ['mandate-agent', 'agent:eve'],
    ['MANDATE_TASK', 'task_eve'],
    ['Mandate.Scope', 'jira:admin'],
    ['Mandate-Other', 'x'],
    ['Connection', 'X-Hop, Mandate-Subject, Content-Type'],
    ['X-Hop', '1'],
    ['Content-Type', 'text/plain'],
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Connection', 'keep-alive'],
    ['Proxy-Authorization', 'Basic YTpi'],
    ['TE', 'trailers'],
    ['Upgrade', 'h2c'],
    ['HTTP2-Settings', 'AAMAAABkAAQCAAAAAAIAAAAA'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X_HTTP_Method', 'DELETE'],
    ['X-Original-URL', '/admin'],
    ['X-Rewrite-URL', '/admin'],
    ['Script_Name', '/issues'],
    ['X-Script-Name', '/issues'],
    ['PATH_INFO', '/admin'],
    ['Mcp_Session_Id', 'of another'],
    ['Mcp_Method', 'tools/list'],
    ['MCP.Name', 'of another'],
    ['Mcp_Protocol_Version', '2025-03-26'],
    ['Transfer_Encoding', 'chunked'],
    ['Content_Length', '0'],
    ['Content.Type', 'text/plain'],
    ['Content_Encoding', 'gzip'],
  ];
  it('drops the headers of one connection, those that replace method or path, and every Mandate- header', async () => {
    const url = await proxy.start(recording);
    expect((await rawRequest(`${url}/issues/7`, 'GET', [...dropped, bearer()])).status).to.equal(200);
    expect(connection(seen[0]?.headers ?? [])).to.deep.equal([
      ...['Host', new URL(url).host, ...IDENTITY, 'Content-Length', '0'],
    ]);
  });

  it('gives a request that needs no token empty headers of identity, and writes no event', async () => {
    const url = await proxy.start(recording, { routes: readable('GET /issues/*'), open: [matchOf('GET /healthz')] });
    expect((await rawRequest(`${url}/healthz?a`, 'GET', [...dropped, bearer()])).status).to.equal(200);
    const empty = ['Mandate-Subject', 'Mandate-Agent', 'Mandate-Task', 'Mandate-Scope'].flatMap((name) => [name, '']);
    expect(connection(seen[0]?.headers ?? [])).to.deep.equal([
      ...['Host', new URL(url).host, ...empty, 'Content-Length', '0'],
    ]);
    expect(events).to.deep.equal([]);
    expect((await rawRequest(`${url}/admin`, 'GET', [bearer()])).status).to.equal(403);
    expect((await rawRequest(`${url}/admin`, 'GET', [])).status).to.equal(401);
    expect(decided()).to.deep.equal([
      [null, 'deny', 'unknown_route'],
      [null, 'deny', 'missing_token'],
    ]);
    expect(seen).to.have.lengthOf(1);
  });

  it('passes the answer on as it was sent, without the headers of its connection', async () => {
    const url = await proxy.start((_, response) => {
      response.sendDate = false;
      response.writeHead(418, [
        ...['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Latin', '\u00e9', 'Connection', 'X-Hop, close', 'X-Hop', '1'],
        ...['Proxy-Authenticate', 'Basic', 'Content-Length', '3', 'Date', 'yesterday'],
      ]);
      // With a text, Node would write the head in UTF-8 too.
      response.end(Buffer.from('tea'));
    });
    const raw = await new Promise<{ line: string; headers: readonly string[] }>((resolve, reject) => {
      const sent = httpRequest(`${url}/tea`, { agent: false, headers: Object.fromEntries([bearer()]) });
      sent.once('error', reject).end();
      sent.once('response', (answer) => {
        answer.resume();
        resolve({ line: String(answer.statusCode), headers: answer.rawHeaders });
      });
    });
    expect(raw.line).to.equal('418');
    expect(connection(raw.headers)).to.deep.equal([
      ...['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Latin', '\u00e9', 'Date', 'yesterday', 'Content-Length', '3'],
    ]);
  });

  for (const isStopping of [false, true]) {
    it(`passes a Content-Disposition on in both directions byte for byte${isStopping ? ' during a stop' : ''}`, async () => {
      // The bytes of U+010A in UTF-8, and one of ISO 8859-1. Written as one byte, U+010A is a line feed.
      const sent = 'Content-Disposition: form-data; filename="\u00c4\u008a\u00e9\u00c4\u008aX-Injected: 1"';
      let got = '';
      let answer: (() => void) | undefined;
      const origin = await proxy.upstreamOfBytes((socket) => {
        socket.once('data', (bytes) => {
          got = bytes.toString('latin1');
          answer = () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${sent}\r\n\r\nok`, 'latin1');
        });
      });
      const client = await rawConnection(await proxy.start(origin));
      const stopped = isStopping && proxy.stop();
      const head = `POST /a HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\nContent-Length: 4\r\n${sent}\r\n\r\n`;
      client.socket.write(`${head}body`, 'latin1');
      await eventually(() => answer !== undefined);
      answer?.();
      expect(await client.until('\r\n\r\nok')).to.include(`\r\n${sent}\r\n`);
      expect(got).to.include(`\r\n${sent}\r\n`);
      expect(errors).to.deep.equal([]);
      client.leave();
      await stopped;
    });
  }

  it('passes answers without a body on, and serves the next request of the connection', async () => {
    const url = await proxy.start((request, response) => {
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Length': '1234' }).end();
      else if (request.url === '/cached') response.writeHead(304, { ETag: '"a"' }).end();
      else if (request.url === '/gone') response.writeHead(204).end();
      else response.end('last');
    });
    const head = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\n${more}\r\n`;
    const client = await rawConnection(url);
    client.send(head('HEAD /a') + head('GET /cached') + head('DELETE /gone') + head('GET /b', 'Connection: close\r\n'));
    const text = await client.until('last');
    expect([...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)).to.deep.equal([
      ...['200', '304', '204', '200'],
    ]);
    expect(text)
      .to.match(/content-length: 1234\r\n/i)
      .and.match(/etag: "a"\r\n/i);
    client.leave();
  });

  const malformed: readonly (readonly [what: string, line: string, headers?: string])[] = [
    ['a dot segment', 'GET /issues/../admin HTTP/1.1'],
    ['an encoded dot segment with parameters', 'GET /issues/%2e%2e;a/admin HTTP/1.1'],
    ['an encoded slash', 'GET /issues%2f7 HTTP/1.1'],
    ['a backslash', 'GET /issues\\7 HTTP/1.1'],
    ['an empty segment', 'GET //issues/7 HTTP/1.1'],
    ['an encoded unreserved character', 'GET /%69ssues/7 HTTP/1.1'],
    ['the absolute form', 'GET http://127.0.0.1/issues/7 HTTP/1.1'],
    ['the asterisk form', 'OPTIONS * HTTP/1.1'],
    ['two hosts', 'GET /issues/7 HTTP/1.1', 'Host: a\r\nHost: a\r\n'],
    ['two hosts at the metadata', `GET ${METADATA} HTTP/1.1`, 'Host: a\r\nHost: a\r\n'],
    ['a host with a path', 'GET /issues/7 HTTP/1.1', 'Host: a/b\r\n'],
    ['a host with an open bracket', 'GET /issues/7 HTTP/1.1', 'Host: [a\r\n'],
    ['an empty host', 'GET /issues/7 HTTP/1.1', 'Host: \r\n'],
    ['a host that joins two', 'GET /issues/7 HTTP/1.1', 'Host: a.example,b.example\r\n'],
    ['more than 100 headers', 'GET /issues/7 HTTP/1.1', `Host: a\r\n${'a:\r\n'.repeat(100)}`],
    ['a body that is compressed on the way', 'POST /a HTTP/1.1', 'Host: a\r\nTransfer-Encoding: gzip, chunked\r\n'],
    ['a WebSocket', 'GET /a HTTP/1.1', 'Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'],
    ['a WebSocket beside h2c', 'GET /a HTTP/1.1', 'Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n'],
  ];
  for (const [what, line, headers = 'Host: a\r\n'] of malformed) {
    it(`refuses with 400 malformed_request: ${what}`, async () => {
      const url = await proxy.start(recording);
      const end = line.startsWith('POST') ? '0\r\n\r\n' : '';
      const close = headers.includes('Connection') ? '' : 'Connection: close\r\n';
      const { answers } = await sendBytes(url, `${line}\r\n${headers}${close}${bearer().join(': ')}\r\n\r\n${end}`, {
        timeoutMs: close === '' ? 500 : 20_000,
      });
      expect(answers.map(({ status, body }) => [status, JSON.parse(body).reason])).to.deep.equal([
        [400, 'malformed_request'],
      ]);
      expect(decided()).to.deep.equal([[null, 'deny', 'malformed_request']]);
      expect([seen, errors]).to.deep.equal([[], []]);
    });
  }

  it('serves a client that offers h2c with its first request, as that of Java does, also with a body', async () => {
    const url = await proxy.start(recording);
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\n';
    const settings = 'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n';
    const rest = `Host: x\r\n${settings}Upgrade: h2c\r\nUser-Agent: Java-http-client/17.0.12\r\n${bearer().join(': ')}\r\n`;
    const client = await rawConnection(url);
    client.send(`POST /issues/7 HTTP/1.1\r\n${offer}Content-Length: 4\r\n${rest}\r\nbody`);
    expect(await client.until('answered')).to.match(/^HTTP\/1\.1 200 OK\r\n/);
    client.send(`POST /issues/8 HTTP/1.1\r\n${offer}Transfer-encoding: chunked\r\n${rest}\r\n4\r\nmore\r\n0\r\n\r\n`);
    await client.until('answeredHTTP/1.1 200 OK');
    client.send(`GET /issues/9 HTTP/1.1\r\n${offer}${rest}\r\n`);
    await eventually(() => seen.length === 3);
    expect(seen.map(({ line, body }) => [line, body])).to.deep.equal([
      ['POST /issues/7', 'body'],
      ['POST /issues/8', 'more'],
      ['GET /issues/9', ''],
    ]);
    expect(seen.flatMap(({ headers }) => headers).filter((text) => /h2c|http2/i.test(text))).to.deep.equal([]);
    client.leave();
  });

  it('accepts a request of HTTP/1.0 without a host', async () => {
    const url = await proxy.start(recording);
    const { answers } = await sendBytes(url, `GET /issues/7 HTTP/1.0\r\n${bearer().join(': ')}\r\n\r\n`);
    expect(answers.map(({ status }) => status)).to.deep.equal([200]);
    expect(seen[0]?.headers[1]).to.match(/^127\.0\.0\.1:\d+$/);
  });

  it('answers Expect itself: with 100 for an allowed request, and otherwise only with the refusal', async () => {
    const url = await proxy.start(recording);
    const head = (token: string) =>
      `POST /issues/7 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n${token}\r\n`;
    const stranger = await rawConnection(url);
    stranger.send(head(''));
    const refused = await stranger.until('missing_token');
    expect(refused).to.match(/^HTTP\/1\.1 401 .*\r\nConnection: close\r\n/s);
    const client = await rawConnection(url);
    client.send(head(`${bearer().join(': ')}\r\n`));
    expect(await client.until('\r\n\r\n')).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
    client.send('body');
    expect(await client.until('answered')).to.match(/\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(seen.map(({ body }) => body)).to.deep.equal(['body']);
    expect(seen[0]?.headers.map((name) => name.toLowerCase())).not.to.include('expect');
    // The connection serves the next request.
    client.send(`GET /issues/8 HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\n\r\n`);
    expect(await client.until('answeredHTTP/1.1 200 OK')).to.include('answeredHTTP/1.1 200 OK');
    for (const each of [stranger, client]) each.leave();
  });

  it('serves the metadata of the audience with all scopes of its routes, tools and methods, without a token', async () => {
    const routes = [...readable('GET /a'), { match: matchOf('POST /a'), scope: ['jira:write', 'jira:read'] }];
    const mcp = {
      path: '/mcp',
      tools: { read_issue: { scope: ['tool:read'] } },
      methods: { 'resources/read': { scope: ['method:read'] } },
    };
    const url = await proxy.start(recording, { routes, mcp });
    const answer = await rawRequest(`${url}${METADATA}`, 'GET', []);
    expect([answer.status, JSON.parse(answer.body)]).to.deep.equal([
      200,
      {
        resource: AUDIENCE,
        authorization_servers: [proxy.issuer],
        scopes_supported: ['jira:read', 'jira:write', 'method:read', 'tool:read'],
        bearer_methods_supported: ['header'],
      },
    ]);
    expect([seen, events]).to.deep.equal([[], []]);
  });

  it('uses other rules and another upstream from a reload on, and keeps a running answer', async () => {
    let answer: ServerResponse | undefined;
    let answerLate = false;
    const first = await proxy.upstreamOf((_, response) => {
      if (!answerLate) response.write('begun ');
      answer = response;
    });
    const url = await proxy.start(first);
    const running = await fetch(`${url}/slow`, { headers: Object.fromEntries([bearer()]) });
    const second = await proxy.upstreamOf(recording);
    const next = proxyConfiguration(proxy.issuer, second, { routes: readable('GET /new') });
    expect(proxy.guard.reload(next)).to.deep.equal([]);
    expect((await rawRequest(`${url}/new`, 'GET', [bearer()])).body).to.equal('answered');
    expect((await rawRequest(`${url}/slow`, 'GET', [bearer()])).status).to.equal(403);
    answer?.end('done');
    expect(await running.text()).to.equal('begun done');
    expect(errors).to.deep.equal([]);
    proxy.guard.reload(proxyConfiguration(proxy.issuer, first, { upstreamTimeoutMs: 60_000 }));
    proxy.guard.reload(proxyConfiguration(proxy.issuer, first, { upstreamTimeoutMs: 100 }));
    answerLate = true;
    expect((await rawRequest(`${url}/slow`, 'GET', [bearer()])).status).to.equal(504);
  });

  it('sends a request to the upstream of the rules under which it began, also if it is decided after a reload', async () => {
    const keys = heldAnswer(proxy.plane.answerKeys);
    proxy.plane.answerKeys = keys.handler;
    const url = await proxy.start((_, response) => response.end('first'));
    const begun = rawRequest(`${url}/a`, 'GET', [bearer()]);
    await keys.asked;
    const second = await proxy.upstreamOf((_, response) => response.end('second'));
    expect(proxy.guard.reload(proxyConfiguration(proxy.issuer, second))).to.deep.equal([]);
    keys.release();
    expect((await begun).body).to.equal('first');
    expect((await rawRequest(`${url}/a`, 'GET', [bearer()])).body).to.equal('second');
    expect(errors).to.deep.equal([]);
  });
});
