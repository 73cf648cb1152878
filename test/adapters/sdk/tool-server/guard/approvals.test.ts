/** Requests through the proxy that a person has to approve: what the person reads, what goes through, and what is not asked. */

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { mock } from 'node:test';
import { expect } from 'chai';
import type { ProxyConfiguration } from '../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import type { Approval } from '../../../../../adapters/sdk/tool-server/guard/value-kinds.ts';
import { eventually } from '../../../../support/eventually.ts';
import { heldAnswer } from '../../../../support/loopback.ts';
import { misreadBytes } from '../../../../support/misread-bytes.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { makeSigningKey } from '../../../../support/signing-key.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { AUDIENCE } from '../../../../support/tool-server/control-plane.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { call } from '../../../../support/tool-server/guarded-messages.ts';
import {
  client1,
  client2,
  type OpenPage,
  type PayingMcp,
  startUnguardedBank,
} from '../../../../support/tool-server/paying-mcp.ts';
import { proxyConfiguration, proxyForEachTest } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const MIB = 1024 * 1024;
const JSON_TYPE = ['Content-Type', 'application/json'] as const;
const PAY: Approval = {
  title: 'Pay',
  lines: [
    { label: 'To', path: ['to'] },
    { label: 'Amount', path: ['sums', 0, 'of it'] },
  ],
};
const BODY = '{"to": "Bob", "sums": [{"of it": 1.20e1}], "more": {"b": null}}';
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');

describe('A call that a person approves, through the proxy', () => {
  const proxy = proxyForEachTest();
  const { bearer, decided, errors } = proxy;
  const seen: { readonly line: string; readonly body: string; readonly headers: IncomingHttpHeaders }[] = [];
  let approvals: FakeApprovals;

  beforeEach(async () => {
    seen.length = 0;
    approvals = await fakeApprovals(proxy.plane, () => Math.floor(Date.now() / 1000));
  });

  const server: RequestListener = async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    seen.push({ line: `${request.method} ${request.url}`, body, headers: request.headers });
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"done": true}');
  };
  const approvalKey = () => ({ jwk: { ...approvals.key.privateJwk } });
  const routes = [
    { match: matchOf('POST /payments/*'), scope: ['jira:read'], approval: PAY },
    { match: matchOf('DELETE /payments/*'), scope: ['jira:read'], approval: { title: 'Delete', lines: [] } },
    { match: matchOf('PUT /payments/*'), scope: ['jira:admin'], approval: PAY },
    { match: matchOf('PATCH /payments/*'), scope: ['jira:read'] },
  ];
  const mcp = { path: '/mcp', tools: { pay: { scope: ['jira:read'], approval: PAY } }, methods: {} };
  const start = (more: Partial<ProxyConfiguration> = {}) =>
    proxy.start(server, { routes, mcp, approvalKey: approvalKey(), ...more });
  const asked = () => approvals.asked.map(({ claims }) => [claims.title, claims.lines]);
  const digest = () => approvals.asked.at(-1)?.claims.digest ?? '';
  const reasons = () => decided().map(([, , reason]) => reason);

  it('is asked for with its lines, and goes through once with the bytes that were sent', async () => {
    const url = await start();
    const send = () => rawRequest(`${url}/payments/7?dry=no`, 'POST', [bearer(), JSON_TYPE], BODY);
    const waiting = await send();
    expect([waiting.status, waiting.headers['retry-after']]).to.deep.equal([403, '5']);
    expect(JSON.parse(waiting.body)).to.include({
      reason: 'approval_required',
      error: 'approval_required',
      approval_uri: approvals.uri(digest()),
    });
    const lines = [
      { label: 'Request', value: 'POST /payments/7?dry=no' },
      { label: 'To', value: 'Bob' },
      { label: 'Amount', value: '1.20e1' },
    ];
    expect(asked()).to.deep.equal([['Pay', lines]]);
    const text = `{"audience":"${AUDIENCE}","body":"${sha256(BODY)}","method":"POST","target":"/payments/7?dry=no"}`;
    expect(digest()).to.equal(sha256(text));
    expect(seen).to.deep.equal([]);

    approvals.approve(digest());
    expect((await send()).status).to.equal(200);
    expect(JSON.parse((await send()).body)).to.include({ reason: 'approval_spent' });
    expect(seen.map(({ line, body }) => [line, body])).to.deep.equal([['POST /payments/7?dry=no', BODY]]);
    expect(seen[0]?.headers).to.include({ 'mandate-subject': 'ada', 'content-length': `${BODY.length}` });
    expect(seen[0]?.headers).not.to.have.property('authorization');
    expect(decided()).to.deep.equal([
      ['POST /payments/*', 'deny', 'approval_required'],
      ['POST /payments/*', 'allow', null],
      ['POST /payments/*', 'deny', 'approval_spent'],
    ]);
    expect([proxy.plane.asked('/oauth2/introspect'), errors]).to.deep.equal([0, []]);
  });

  it('goes through with a body whose coding is identity, which means none', async () => {
    const url = await start();
    const headers = [bearer(), JSON_TYPE, ['Content-Encoding', 'identity']] as const;
    const send = () => rawRequest(`${url}/payments/7`, 'POST', headers, BODY);
    expect((await send()).status).to.equal(403);
    approvals.approve(digest());
    expect((await send()).status).to.equal(200);
    expect(seen.map(({ body }) => body)).to.deep.equal([BODY]);
  });

  it('needs no body and no lines, because its first line is the request', async () => {
    const url = await start();
    const send = () => fetch(`${url}/payments/7`, { method: 'DELETE', headers: Object.fromEntries([bearer()]) });
    expect((await send()).status).to.equal(403);
    expect(asked()).to.deep.equal([['Delete', [{ label: 'Request', value: 'DELETE /payments/7' }]]]);
    approvals.approve(digest());
    expect((await send()).status).to.equal(200);
    expect(seen.map(({ line, body }) => [line, body])).to.deep.equal([['DELETE /payments/7', '']]);
  });

  const with_ = (more: string) => BODY.replace('{', `{${more}, `);
  const notAsked: readonly (readonly [
    what: string,
    reason: string,
    body: string | Uint8Array,
    headers?: readonly (readonly [string, string])[],
    target?: string,
  ])[] = [
    ['without the value of a line', 'arguments_refused', BODY.replace('"to"', '"too"')],
    ['with that name in other letter case only', 'arguments_refused', BODY.replace('"to"', '"To"')],
    ['with an empty value', 'arguments_refused', BODY.replace('Bob', ' ')],
    ['with a value that is too long for its line', 'arguments_refused', BODY.replace('Bob', 'b'.repeat(201))],
    ['with a line break in a value', 'arguments_refused', BODY.replace('Bob', 'Bob\\nAmount: 1')],
    ['with a name in two letter cases', 'arguments_refused', with_('"TO": "Eve"')],
    ['with a name in two letter cases, one of which is not ASCII', 'arguments_refused', with_('"\u017fums": []')],
    ['with a name that some parsers cut', 'arguments_refused', with_('"to\\u0000": "Eve"')],
    ['with such names deep inside', 'arguments_refused', with_('"x": [{"a": 1, "A": 2}]')],
    ['with a whole number that many parsers round', 'arguments_refused', BODY.replace('1.20e1', '9007199254740993')],
    ['with a target that is too long for a line', 'arguments_refused', BODY, [JSON_TYPE], `7?${'a'.repeat(200)}`],
    ['with a member twice', 'malformed_body', with_('"to": "Eve"')],
    ['with a member __proto__', 'malformed_body', with_('"__proto__": {"to": "Eve"}')],
    ...misreadBytes(BODY).map(([what, bytes]) => [`with ${what}`, 'malformed_body', bytes] as const),
    ['of another media type', 'malformed_body', BODY, [['Content-Type', 'application/x-www-form-urlencoded']]],
    ['of two media types', 'malformed_body', BODY, [JSON_TYPE, ['content-type', 'application/x-www-form-urlencoded']]],
    ['in another charset', 'malformed_body', BODY, [['Content-Type', 'application/json; charset=utf-7']]],
    ['that is compressed', 'malformed_body', BODY, [JSON_TYPE, ['Content-Encoding', 'gzip']]],
    ['whose type stays here', 'malformed_body', BODY, [JSON_TYPE, ['Connection', 'Close, Content-Type']]],
    ['of over 1 MiB', 'body_too_long', BODY.padEnd(MIB + 1)],
  ];
  for (const [what, reason, body, headers = [JSON_TYPE], target = '7'] of notAsked) {
    it(`is refused with ${reason}, and no person is asked, for a body ${what}`, async () => {
      const url = await start();
      const answer = await rawRequest(`${url}/payments/${target}`, 'POST', [bearer(), ...headers], body);
      const status = { arguments_refused: 403, malformed_body: 400, body_too_long: 413 }[reason];
      expect([answer.status, JSON.parse(answer.body).reason]).to.deep.equal([status, reason]);
      expect([asked(), seen, decided(), errors]).to.deep.equal([[], [], [['POST /payments/*', 'deny', reason]], []]);
    });
  }

  it('is not walked around by a path that a server could take for its own, which only a later wildcard matches', async () => {
    const wildcards = ['POST /*', 'DELETE /*'].map((pattern) => ({ match: matchOf(pattern), scope: ['jira:read'] }));
    const exact = { match: matchOf('POST /pay'), scope: ['jira:read'], approval: PAY };
    const named = { match: matchOf('POST /Pay/'), scope: ['jira:read'] };
    const url = await start({ routes: [...routes, exact, named, ...wildcards] });
    const taken = [
      ...['/PAY', '/pay/', '/pay;a=b', '/pay.json', '/pay%20', '/Payments/7', '/payment%C5%BF/7', '/payments;a/7'],
      // Windows drops dots and spaces at the end of each segment.
      ...[
        '/payments./7',
        '/payments.../7',
        '/payments%20/7',
        '/payments%20.%20/7',
        '/payments+/7',
        '/pay.',
        '/pay.%20',
      ],
      // NTFS has another name for the data of a file, and for a folder.
      ...['/pay::$DATA', '/pay%3A%3A$data', '/pay.::$DATA', '/payments::$INDEX_ALLOCATION/7', '/pay::$DATA/'],
      // Some servers decode twice, and read the query, a fragment, slashes and dots after that.
      ...['/p%2561y', '/pay%252f', '/pay%3f', '/pay%3fa', '/pay%23', '/%2570%2561%2579', '/p%252561y', '/pay%253Bx'],
      ...['/x/%252e%252e/pay', '/x%252f..%252fpay', '/payments%252f7', '/payments%255c7', '/p%25u0061y', '/pay%2500'],
    ];
    const others = [
      '/Pay/',
      '/payments/',
      '/payments',
      '/pay/7',
      '/payment/7',
      '/pays',
      '/a.pay',
      '/p.ay',
      '/pa%2520y',
      '/pay:cancel',
    ];
    const statuses: unknown[] = [];
    for (const path of [...taken, ...others]) {
      statuses.push((await rawRequest(`${url}${path}`, 'POST', [bearer(), JSON_TYPE], BODY)).status);
    }
    expect(statuses).to.deep.equal([...taken.map(() => 403), ...others.map(() => 200)]);
    expect(reasons()).to.deep.equal([...taken.map(() => 'unknown_route'), ...others.map(() => null)]);
    expect(seen.map(({ line }) => line)).to.deep.equal(others.map((path) => `POST ${path}`));
    expect((await rawRequest(`${url}/Pay`, 'DELETE', [bearer()])).status).to.equal(200);
    expect(asked()).to.deep.equal([]);
  });

  it('has its body asked for and read only if token and scope allow the call', async () => {
    const url = await start();
    const head = (method: string, token: string) =>
      `${method} /payments/7 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n${token}\r\n`;
    const token = `${bearer().join(': ')}\r\n`;
    for (const [method, own, reason] of [
      ['POST', '', 'missing_token'],
      ['PUT', token, 'insufficient_scope'],
    ] as const) {
      const client = await rawConnection(url);
      client.send(head(method, own));
      expect(await client.until(`"${reason}"`)).to.match(/^HTTP\/1\.1 40[13] /);
      client.leave();
    }
    const client = await rawConnection(url);
    client.send(head('POST', token));
    expect(await client.until('\r\n\r\n')).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
    client.send(BODY);
    expect(await client.until('approval_uri')).to.match(/\r\n\r\nHTTP\/1\.1 403 /);
    client.leave();
    expect([reasons(), seen]).to.deep.equal([['missing_token', 'insufficient_scope', 'approval_required'], []]);
  });

  it("is refused with the person's line: in the body of a route, quoted in the result of a tool, in no event", async () => {
    const url = await start();
    const line = 'Wrong account\u202e';
    const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay","arguments":${BODY}}}`;
    const quotation = `The person refused this call. The person's words: «${line}»`;
    for (const [path, body, said] of [
      ['/payments/7', BODY, { person_says: line }],
      ['/mcp', call, { result: { content: [{ type: 'text', text: quotation }], isError: true } }],
    ] as const) {
      const send = () => rawRequest(`${url}${path}`, 'POST', [bearer(), JSON_TYPE], body);
      await send();
      approvals.answer(digest(), 'refused', line);
      expect(JSON.parse((await send()).body), path).to.deep.include(said);
      expect(reasons().at(-1)).to.equal('approval_refused');
    }
    expect([seen, JSON.stringify(decided()).includes('Wrong')]).to.deep.equal([[], false]);
  });

  for (const [path, route, reason] of [
    ['/payments/7', 'POST /payments/*', 'malformed_body'],
    ['/mcp', null, 'unknown_tool'],
  ] as const) {
    it(`is cut off at ${path} if its body has not arrived whole in a minute`, async () => {
      const url = await start();
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const client = await rawConnection(url);
        client.send(
          `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n${bearer().join(': ')}\r\n\r\n`,
        );
        await client.until('\r\n\r\n');
        client.send(BODY.slice(0, -1));
        mock.timers.tick(59_999);
        expect(client.socket.destroyed).to.equal(false);
        mock.timers.tick(1);
        expect(await client.until('never')).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
      } finally {
        mock.timers.reset();
      }
      await eventually(() => decided().length > 0);
      expect([decided(), asked(), seen]).to.deep.equal([[[route, 'deny', reason]], [], []]);
    });
  }

  it('is refused as the control plane answers, and while it cannot answer', async () => {
    const url = await start();
    const send = async () => {
      const { status, body } = await rawRequest(`${url}/payments/7`, 'POST', [bearer(), JSON_TYPE], BODY);
      return [status, JSON.parse(body).reason];
    };
    await send();
    const answers: unknown[] = [];
    for (const state of ['refused', 'expired', 'inactive']) {
      approvals.answer(digest(), state);
      answers.push(await send());
    }
    proxy.plane.answerApproval = (_, response) => response.socket?.destroy();
    answers.push(await send());
    expect(answers).to.deep.equal([
      [403, 'approval_refused'],
      [403, 'approval_expired'],
      [401, 'not_active'],
      [503, 'approval_unavailable'],
    ]);
    expect(reasons().slice(1)).to.deep.equal(answers.map((each) => (each as readonly unknown[])[1]));
    expect(seen).to.deep.equal([]);
  });

  it('is asked for with the key of the last reading of the file', async () => {
    const url = await start();
    const send = async (method: string) => {
      const { body } = await rawRequest(`${url}/payments/7`, method, [bearer(), JSON_TYPE], BODY);
      return body.includes('reason') ? JSON.parse(body).reason : body;
    };
    const upstream = await proxy.upstreamOf(server);
    const reload = (more: Partial<ProxyConfiguration>) =>
      proxy.guard.reload(proxyConfiguration(proxy.issuer, upstream, { routes, ...more }));
    const other = await makeSigningKey('ES256');
    expect(reload({ approvalKey: { jwk: { ...other.privateJwk } } })).to.deep.equal([]);
    expect(await send('POST')).to.equal('approval_unavailable');
    expect(reload({ approvalKey: approvalKey() })).to.deep.equal([]);
    expect(await send('POST')).to.equal('approval_required');
    expect(reload({ routes: routes.slice(3) })).to.deep.equal([]);
    expect([await send('POST'), await send('PATCH')]).to.deep.equal(['unknown_route', '{"done": true}']);
  });

  it('is asked for under the rules under which its request began', async () => {
    const url = await start();
    const keys = heldAnswer(proxy.plane.answerKeys);
    proxy.plane.answerKeys = keys.handler;
    const sent = rawRequest(`${url}/payments/7`, 'POST', [bearer(), JSON_TYPE], BODY);
    await keys.asked;
    const upstream = await proxy.upstreamOf(server);
    expect(proxy.guard.reload(proxyConfiguration(proxy.issuer, upstream, { routes: [] }))).to.deep.equal([]);
    keys.release();
    expect((await sent).status).to.equal(403);
    expect(decided()).to.deep.equal([['POST /payments/*', 'deny', 'approval_required']]);
    expect(asked()).to.have.lengthOf(1);
  });

  describe('at mcp.path', () => {
    const ARGS = { to: 'Bob', sums: [{ 'of it': 12 }] };
    /** @param isChunked sends no length of the body */
    async function send(url: string, params: object, { id = 7, isChunked = false, text = (t: string) => t } = {}) {
      const body = text(JSON.stringify({ ...call('pay', params), id: id < 0 ? undefined : id }));
      const headers = Object.fromEntries([bearer(), JSON_TYPE]);
      const stream = new Blob([body]).stream();
      const init = isChunked ? { body: stream, duplex: 'half' as const } : { body };
      const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, ...init });
      return { status: answer.status, text: await answer.text() };
    }

    for (const isChunked of [false, true]) {
      it(`gives the server what was approved and no other parameter${isChunked ? ', of a body without length' : ''}`, async () => {
        const url = await start();
        const params = { arguments: ARGS, inputResponses: { a: 1 }, requestState: 'mine', _meta: { 'x/y': 1 } };
        const text = (body: string) => body.replace('12', ' 1.2e1 ');
        const waiting = await send(url, params, { isChunked, text });
        expect([waiting.status, JSON.parse(waiting.text).result.isError]).to.deep.equal([200, true]);
        expect(waiting.text).to.include(approvals.uri(digest()));
        approvals.approve(digest());
        expect((await send(url, params, { isChunked, text })).text).to.equal('{"done": true}');
        const lines = [
          { label: 'To', value: 'Bob' },
          { label: 'Amount', value: '1.2e1' },
        ];
        expect(asked()).to.deep.equal([
          ['Pay', lines],
          ['Pay', lines],
        ]);
        const [{ body = '', headers = {} } = {}] = seen;
        const { params: given, ...message } = JSON.parse(body);
        expect(given).to.deep.equal({ name: 'pay', arguments: ARGS, _meta: { 'x/y': 1 } });
        expect(message).to.deep.include({ jsonrpc: '2.0', id: 7, method: 'tools/call' });
        expect(headers).to.include({ 'content-length': `${Buffer.byteLength(body)}`, 'mandate-subject': 'ada' });
        expect(seen).to.have.lengthOf(1);
        expect(decided()).to.deep.equal([
          ['pay', 'deny', 'approval_required'],
          ['pay', 'allow', null],
        ]);
      });
    }

    for (const [what, args, id] of [
      ['without the value of a line', { to: 'Bob' }, 7],
      ['with a name in two letter cases', { ...ARGS, To: 'Eve' }, 7],
      ['with a whole number that many parsers round', { ...ARGS, more: 2 ** 53 }, 7],
      ['without an id', ARGS, -1],
    ] as const) {
      it(`is refused, and no person is asked, for a call ${what}`, async () => {
        const { status, text } = await send(await start(), { arguments: args }, { id });
        const answer = JSON.parse(text);
        if (id < 0) expect([status, answer.reason]).to.deep.equal([403, 'arguments_refused']);
        else expect([status, answer.id, answer.result.isError]).to.deep.equal([200, 7, true]);
        expect([asked(), seen, reasons()]).to.deep.equal([[], [], ['arguments_refused']]);
      });
    }

    for (const [what, from, to] of [
      ['an id beyond 2^53', '"id":7', '"id":9007199254740993'],
      ['the id 2^53, which is that of 2^53 + 1 to some readers', '"id":7', '"id":9007199254740992'],
      ['an id that a double rounds', '"id":7', '"id":7.00000000000000000001'],
      ['a progress token beyond 2^53', '"progressToken":1', '"progressToken":-9007199254740993'],
      ['a progress token that a double rounds', '"progressToken":1', '"progressToken":0.10000000000000000555'],
      ['another rounded number of its _meta', '"progressToken":1', '"x/y":{"a":[1e-400]}'],
    ] as const) {
      it(`is refused, and no person is asked, for ${what}: the message is written anew`, async () => {
        const text = (sent: string) => sent.replace(from, to);
        const answer = await send(await start(), { arguments: ARGS, _meta: { progressToken: 1 } }, { text });
        expect(answer.status).to.equal(200);
        expect(answer.text).to.include('has more digits than every reader keeps');
        // Its client finds the answer by the id as it sent it.
        expect(answer.text).to.include(to.startsWith('"id"') ? to : '"id":7');
        expect([asked(), seen, reasons()]).to.deep.equal([[], [], ['arguments_refused']]);
      });
    }

    it('has any other id and progress token passed on as they were sent', async () => {
      const url = await start();
      for (const [id, token] of [
        ['9007199254740991', '1.5'],
        ['"9007199254740993"', '"9007199254740993"'],
        ['-1', '-9007199254740991'],
        ['1.5', '0'],
        ['0', '1e2'],
      ] as const) {
        const text = (sent: string) =>
          sent.replace('"id":7', `"id":${id}`).replace('"progressToken":1', `"progressToken":${token}`);
        const params = { arguments: ARGS, _meta: { progressToken: 1 } };
        await send(url, params, { text });
        approvals.approve(digest());
        await send(url, params, { text });
        const passed = JSON.parse(seen.at(-1)?.body ?? '');
        expect([passed.id, passed.params._meta.progressToken]).to.deep.equal([JSON.parse(id), JSON.parse(token)]);
      }
      expect(seen).to.have.lengthOf(5);
    });

    describe('with an MCP server that knows nothing of Mandate', () => {
      let bank: PayingMcp;
      const closing: (() => Promise<unknown>)[] = [];
      beforeEach(async () => {
        bank = await startUnguardedBank();
        closing.push(() => bank.stop());
      });
      afterEach(async () => {
        for (const close of closing.splice(0).reverse()) await close().catch(() => undefined);
      });
      const tools = {
        pay: {
          scope: ['jira:read'],
          approval: { title: 'Pay', lines: [{ label: 'Whole', path: [] }] },
        },
      };
      const CALL = { to: 'Bob', amount: 12 };
      const PAID = { text: 'Paid 12 to Bob', isError: false };
      const token = async () => bearer()[1].replace('Bearer ', '');
      const startIn = (path: string, policies: NonNullable<ProxyConfiguration['mcp']>['tools'] = tools) =>
        proxy.start(new URL(bank.endpoint).origin, {
          routes: [],
          mcp: { path, tools: policies, methods: {} },
          approvalKey: approvalKey(),
        });

      for (const [what, path, connect] of [
        ['SDK 2', '/mcp', (url: string) => client2(url, token)],
        ['SDK 2 in a session', '/sessions', (url: string) => client2(url, token, undefined, 'legacy')],
        ['SDK 1', '/mcp', (url: string) => client1(url, token)],
        ['SDK 1 in a session', '/sessions', (url: string) => client1(url, token)],
      ] as const) {
        it(`is answered to ${what} with the address of the page, and goes through once`, async () => {
          const client = await connect(`${await startIn(path)}${path}`);
          closing.push(() => client.close());
          const waiting = await client.call(CALL);
          expect([waiting.isError, waiting.text.includes(approvals.uri(digest()))]).to.deep.equal([true, true]);
          expect(asked()).to.deep.equal([['Pay', [{ label: 'Whole', value: '{"amount":12,"to":"Bob"}' }]]]);
          approvals.approve(digest());
          expect(await client.call({ amount: 12, to: 'Bob' })).to.deep.equal(PAID);
          expect(await client.call(CALL)).to.include({ isError: true });
          expect(bank.paid).to.deep.equal([{ args: CALL, input: undefined }]);
        });
      }

      for (const [what, connect] of [
        ['SDK 2', (url: string) => client2(url, token)],
        ['SDK 1', (url: string) => client1(url, token)],
      ] as const) {
        it(`asks ${what} above the limit of unless, and not below, and tells it which rule refuses a call`, async () => {
          const limited = { properties: { amount: { maximum: 12 } }, required: ['amount'] };
          const pay = {
            ...tools.pay,
            approval: { ...tools.pay.approval, unless: limited },
            arguments: { properties: { amount: { maximum: 500 } } },
          };
          const client = await connect(`${await startIn('/mcp', { pay })}/mcp`);
          closing.push(() => client.close());
          expect(await client.call(CALL)).to.deep.equal(PAID);
          expect(asked()).to.deep.equal([]);
          expect((await client.call({ ...CALL, amount: 13 })).text).to.include(approvals.uri(digest()));
          expect(await client.call({ ...CALL, amount: 501 })).to.deep.equal({
            text: 'The policy of the tool refuses these arguments. The rule maximum refuses $.amount.',
            isError: true,
          });
          expect([asked().length, bank.paid]).to.deep.equal([1, [{ args: CALL, input: undefined }]]);
          const calls = proxy.events.filter(({ route }) => route === 'pay');
          expect(calls.map(({ reason, approval }) => [reason, approval])).to.deep.equal([
            [null, 'not_needed'],
            ['approval_required', undefined],
            ['arguments_refused', undefined],
          ]);
        });
      }

      for (const [what, path, connect] of [
        ['SDK 2', '/mcp', (url: string, open: OpenPage) => client2(url, token, open)],
        ['SDK 2 in a session', '/sessions', (url: string, open: OpenPage) => client2(url, token, open, 'legacy')],
        ['SDK 1 in a session', '/sessions', (url: string, open: OpenPage) => client1(url, token, open)],
      ] as const) {
        it(`makes a client of ${what} that opens URLs open the page, and repeat the call after the answer`, async () => {
          const opened: string[] = [];
          const open = async (uri: string) => {
            opened.push(uri);
            approvals.approve(digest());
            return 'accept' as const;
          };
          const client = await connect(`${await startIn(path)}${path}`, open);
          closing.push(() => client.close());
          expect(await client.call(CALL)).to.deep.equal(PAID);
          expect(opened).to.deep.equal([approvals.uri(digest())]);
          expect(bank.paid).to.deep.equal([{ args: CALL, input: undefined }]);
        });
      }
    });
  });
});
