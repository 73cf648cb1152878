/** Which bodies the guard reads and holds, and for whom. Everything is compared by counts. */

import type { RequestListener, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../../../support/eventually.ts';
import { type RawConnection, rawConnection } from '../../../../support/raw-http.ts';
import { makeSigningKey } from '../../../../support/signing-key.ts';
import { fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { rpc } from '../../../../support/tool-server/guarded-messages.ts';
import { proxyConfiguration, proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const MIB = 1024 * 1024;
const PING = JSON.stringify(rpc('ping'));
const mcp = { path: '/mcp', tools: { read_issue: { scope: ['jira:read'] } }, methods: {} };
const BUSY = '{"error":"temporarily_unavailable"';

describe('A body that the guard holds', () => {
  const proxy = proxyForEachTest();
  const { bearer, decided } = proxy;
  const clients: RawConnection[] = [];
  let served = 0;
  beforeEach(() => {
    served = 0;
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.leave();
  });

  const server: RequestListener = (request, response) => {
    request.resume().on('end', () => {
      served += 1;
      response.end('{"done": true}');
    });
  };
  const start = (more = {}, listener = server) =>
    proxy.start(listener, { routes: readable('GET /issues/*'), mcp, ...more });

  /** Sends the head and all of the body but its last byte. */
  async function send(
    url: string,
    authorization: string,
    body: string,
    path: string,
    more = '',
  ): Promise<RawConnection> {
    const client = await rawConnection(url);
    clients.push(client);
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n${more}`;
    client.send(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
    return client;
  }
  /** Resolves when the guard asks for the body, or has refused the request. */
  async function begin(url: string, authorization: string, path = '/mcp'): Promise<RawConnection> {
    const client = await send(url, authorization, PING, path, 'Expect: 100-continue\r\n');
    await client.until('\r\n\r\n');
    return client;
  }
  const tokenOf = (agent: string, claims = {}) => bearer({ act: { sub: `agent:${agent}`, depth: 1 }, ...claims })[1];
  const end = (client: RawConnection) => client.send(PING.slice(-1));
  const isHeld = (client: RawConnection) => client.received() === 'HTTP/1.1 100 Continue\r\n\r\n';
  const final = (status: number) => new RegExp(`^(?:HTTP/1\\.1 100 Continue\\r\\n\\r\\n)?HTTP/1\\.1 ${status} `);

  it('is never that of a stranger: the flood is refused without a body read, and the agent’s GET is answered', async function () {
    this.timeout(30_000);
    const url = await start({ maxHeldBodies: 1 });
    const foreign = await makeSigningKey('ES256');
    const [head = '', claims = ''] = proxy.plane.token().split('.');
    const strangers = [
      ['x', 'malformed_token'],
      [`${head}.${claims}.${'A'.repeat(86)}`, 'invalid_signature'],
      [proxy.plane.token({ exp: 1 }), 'expired'],
      [proxy.plane.token({ aud: 'https://wiki.example' }), 'wrong_audience'],
      [proxy.plane.token({}, { kid: foreign.kid }), 'unknown_key'],
    ] as const;
    const body = `{${'"k":1,'.repeat(MIB / 6 - 60)}"k":1}`;
    const flood: RawConnection[] = [];
    for (let at = 0; at < 50; at += 1) {
      flood.push(await send(url, `Bearer ${strangers[at % strangers.length]?.[0]}`, body, '/mcp'));
    }
    expect((await rawRequest(`${url}/issues/7`, 'GET', [bearer()])).status).to.equal(200);
    const answers = await Promise.all(flood.map((client) => client.until('"reason":')));
    expect(answers.filter((text) => text.startsWith('HTTP/1.1 401 '))).to.have.lengthOf(50);
    const own = await begin(url, bearer()[1]);
    expect(isHeld(own)).to.equal(true);
    end(own);
    expect(await own.until('true}')).to.match(final(200));
    expect(served).to.equal(2);
    const refused = decided().filter(([, decision]) => decision === 'deny');
    expect(refused).to.have.lengthOf(50);
    for (const [token, reason] of strangers) {
      expect(token).not.to.equal('');
      expect(refused.filter((event) => event[0] === null && event[2] === reason)).to.have.lengthOf(10);
    }
  });

  it('leaves an agent as many permits as remain for others, and is answered with 503 beyond them', async () => {
    const url = await start({ maxHeldBodies: 4 });
    const held = [await begin(url, tokenOf('a')), await begin(url, tokenOf('a', { scope: 'jira:comment' }))];
    const third = await begin(url, tokenOf('a'));
    const text = await third.until(BUSY);
    expect(text)
      .to.match(final(503))
      .and.match(/\r\nRetry-After: 1\r\n/i);
    held.push(await begin(url, tokenOf('b')));
    expect(await (await begin(url, tokenOf('b'))).until(BUSY)).to.match(final(503));
    held.push(await begin(url, tokenOf('c')));
    expect(await (await begin(url, tokenOf('d'))).until(BUSY)).to.match(final(503));
    expect(held.map(isHeld)).to.deep.equal([true, true, true, true]);
    expect(decided()).to.deep.equal(Array(3).fill([null, 'deny', 'overloaded']));

    // A request without a body needs no permit.
    expect((await rawRequest(`${url}/issues/7`, 'GET', [['Authorization', tokenOf('d')]])).status).to.equal(200);
    // One client ends its body, one leaves: both permits are free.
    const [first, second] = held as [RawConnection, RawConnection];
    end(first);
    expect(await first.until('true}')).to.match(final(200));
    second.leave();
    await eventually(() => decided().some(([, decision, reason]) => decision === 'deny' && reason === 'unknown_tool'));
    const later = [await begin(url, tokenOf('a')), await begin(url, tokenOf('d'))];
    for (const client of later) end(client);
    for (const client of later) expect(await client.until('true}')).to.match(final(200));
  });

  it('takes a permit also if a person approves the request, and frees it while the upstream still answers', async () => {
    const approvals = await fakeApprovals(proxy.plane, () => Math.floor(Date.now() / 1000));
    const routes = [{ match: matchOf('POST /pay'), scope: ['jira:read'], approval: { title: 'Pay', lines: [] } }];
    const streams: ServerResponse[] = [];
    const url = await start(
      { routes, maxHeldBodies: 1, approvalKey: { jwk: { ...approvals.key.privateJwk } } },
      (request, response) => {
        request.resume();
        streams.push(response.writeHead(200));
        response.write('begun');
      },
    );
    const asking = await begin(url, tokenOf('a'), '/pay');
    const other = await begin(url, tokenOf('b'));
    expect(await other.until(BUSY)).to.match(final(503));
    end(asking);
    expect(await asking.until('approval_required')).to.match(final(403));
    // Answered, so free: also while the answer of the next one streams.
    for (const agent of ['b', 'c']) {
      const client = await begin(url, tokenOf(agent));
      end(client);
      expect(await client.until('begun')).to.match(final(200));
    }
    const busy = await begin(url, tokenOf('b'));
    expect(await (await begin(url, tokenOf('a'), '/pay')).until(BUSY)).to.match(final(503));
    expect(decided().at(-1)).to.deep.equal(['POST /pay', 'deny', 'overloaded']);
    // A call without a body holds none.
    expect((await rawRequest(`${url}/pay`, 'POST', [['Authorization', tokenOf('a')]])).status).to.equal(403);
    busy.leave();
    for (const stream of streams) stream.end();
  });

  it('counts also under a file that is read again, with its new limit', async () => {
    const url = await start({ maxHeldBodies: 1 });
    await begin(url, tokenOf('a'));
    expect(await (await begin(url, tokenOf('b'))).until(BUSY)).to.match(final(503));
    const upstream = await proxy.upstreamOf(server);
    const reload = (maxHeldBodies: number) =>
      proxy.guard.reload(proxyConfiguration(proxy.issuer, upstream, { mcp, maxHeldBodies }));
    expect(reload(2)).to.deep.equal([]);
    const second = await begin(url, tokenOf('b'));
    expect(await (await begin(url, tokenOf('c'))).until(BUSY)).to.match(final(503));
    expect(isHeld(second)).to.equal(true);
    expect(reload(1)).to.deep.equal([]);
    second.leave();
    await eventually(() => decided().some(([, , reason]) => reason === 'unknown_tool'));
    expect(await (await begin(url, tokenOf('b'))).until(BUSY)).to.match(final(503));
  });
});
