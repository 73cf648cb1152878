/** Rules specific to MCP: messages other than tool calls, bodies, and what a tool learns of its caller. */

import http from 'node:http';
import { expect } from 'chai';
import { claimsOf, mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { eventually } from '../../../../support/eventually.ts';
import { misreadBytes } from '../../../../support/misread-bytes.ts';
import { AUDIENCE } from '../../../../support/tool-server/control-plane.ts';

import {
  call,
  chain,
  FRONTS,
  guardedForEachTest,
  incomingWith,
  initialize,
  NOW,
  notification,
  read,
  rpc,
} from '../../../../support/tool-server/guarded-messages.ts';

describe('The guard of an MCP server', () => {
  const guarded = guardedForEachTest();
  const { fixture, events, start, tokenWith, guardOf, send, statusOf, reasonOf, decided } = guarded;

  for (const [where, options] of FRONTS) {
    describe(where, () => {
      beforeEach(() => start(options));

      it('accepts the handshake with a token of any scope, and refuses its tool calls', async () => {
        const claims = { scope: 'wiki:read' };
        expect((await send({ claims, body: initialize })).text).to.include('"name":"jira"');
        expect(await statusOf({ claims, body: notification('notifications/initialized') })).to.equal(202);
        expect(await statusOf({ claims, body: rpc('ping') })).to.equal(200);
        expect((await send({ claims, body: rpc('tools/list') })).text)
          .to.include('"read_issue"')
          .and.include('forgotten');
        expect(await statusOf({ claims, body: read })).to.equal(403);
        expect(decided()).to.deep.equal([
          ['MCP initialize', 'allow', null, 'ada'],
          ['MCP notifications/initialized', 'allow', null, 'ada'],
          ['MCP ping', 'allow', null, 'ada'],
          ['MCP tools/list', 'allow', null, 'ada'],
          ['read_issue', 'deny', 'insufficient_scope', 'ada'],
        ]);
      });

      it('refuses the handshake with a token for another server, or without a token', async () => {
        const claims = { aud: 'https://wiki.example' };
        for (const body of [initialize, rpc('tools/list'), rpc('ping'), notification('notifications/x')]) {
          expect(await statusOf({ body, claims })).to.equal(401);
          expect(await statusOf({ body, headers: { authorization: '' } })).to.equal(401);
        }
        for (const method of ['GET', 'DELETE', 'PUT']) expect(await statusOf({ method, claims })).to.equal(401);
        const reasons = new Set(events.map((event) => event.reason));
        expect(reasons).to.deep.equal(new Set(['missing_token', 'wrong_audience']));
        expect(events).to.have.lengthOf(11);
      });

      it('refuses tools and methods without a policy', async () => {
        for (const body of [
          rpc('resources/read', { uri: 'jira://boards/1' }),
          rpc('resources/list'),
          rpc('resources/subscribe', { uri: 'jira://boards/1' }),
          rpc('subscriptions/listen', { notifications: { resourceSubscriptions: ['jira://boards/1'] } }),
          rpc('prompts/get', { name: 'x' }),
          rpc('completion/complete'),
          rpc('tasks/result', { taskId: 'x' }),
          rpc('notifications/reindex'),
          notification('notifications/reindex'),
          rpc('no/such\nmethod'),
          call('a tool\nwith a second line'),
        ]) {
          const answer = await send({ body });
          expect([answer.status, JSON.parse(answer.text).reason], answer.text).to.deep.equal([403, 'unknown_tool']);
        }
        expect(guarded.app.called).to.deep.equal([]);
        expect(events.map((event) => event.route)).to.deep.equal([
          ...['MCP resources/read', 'MCP resources/list', 'MCP resources/subscribe', 'MCP resources/subscribe'],
          ...['MCP prompts/get', 'MCP completion/complete', 'MCP tasks/result'],
          ...['MCP notifications/reindex', 'MCP notifications/reindex', null, null],
        ]);
      });

      for (const [what, body] of [
        ['a batch of calls', [read, read]],
        ['a batch of one', [read]],
        ['an empty batch', []],
        ['an object that is not a message', {}],
        ['a message with __proto__', `{"jsonrpc":"2.0","id":7,"__proto__":{"method":"tools/call"}}`],
        [
          'a message with __proto__ beside its method',
          `{"jsonrpc":"2.0","id":7,"method":"ping","__proto__":{"method":"tools/call","params":{"name":"delete_issue"}}}`,
        ],
        [
          'parameters with __proto__',
          `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_issue","__proto__":{"name":"delete_issue"}}}`,
        ],
        ['a method that is not a string', { ...read, method: ['tools/call'] }],
        ['a call without a tool', rpc('tools/call', {})],
        ['a call of a tool whose name is not a string', call(['read_issue'])],
      ] as const) {
        it(`refuses ${what} with a protocol error, and names the person in the event`, async () => {
          const answer = await send({ body });
          expect(answer.status, answer.text).to.equal(400);
          const { error, ...rest } = JSON.parse(answer.text);
          expect(rest).to.deep.equal({ jsonrpc: '2.0', id: null });
          expect(String(error.message).startsWith('Batches are not accepted')).to.equal(Array.isArray(body));
          expect(decided()).to.deep.equal([[null, 'deny', 'unknown_tool', 'ada']]);
          expect(guarded.app.called).to.deep.equal([]);
          expect(await statusOf({ body, token: 'stolen' })).to.equal(401);
        });
      }
    });
  }

  describe('without a body parser, with a limit of 1000 bytes', () => {
    beforeEach(() => start({ parsed: false, maxBodyBytes: 1000 }));

    for (const [what, status, sent] of [
      ['a body that is not JSON', 400, { body: '{"jsonrpc"' }],
      ['an empty body', 400, {}],
      ['a JSON string', 400, { body: '"tools/call"' }],
      ['a repeated member', 400, { body: JSON.stringify(read).replace('"params"', '"method":"ping","params"') }],
      ['a repeated tool name', 400, { body: JSON.stringify(read).replace('"name"', '"name":"ping","name"') }],
      ...misreadBytes(JSON.stringify(read)).map(([what, body]) => [`a body with ${what}`, 400, { body }] as const),
      ['a body over the limit', 413, { body: `${JSON.stringify(read)}${' '.repeat(1000)}` }],
      ['a compressed body', 415, { body: 'x', headers: { 'content-encoding': 'gzip' } }],
    ] as const) {
      it(`refuses ${what} with ${status}`, async () => {
        const answer = await send(sent);
        expect(answer.status, answer.text).to.equal(status);
        expect(JSON.parse(answer.text).error.message).to.match(/\.$/);
        expect(decided()).to.deep.equal([[null, 'deny', 'unknown_tool', 'ada']]);
        expect(guarded.app.called).to.deep.equal([]);
      });
    }

    it('refuses a body over the limit without a Content-Length, and closes the connection', async () => {
      expect(await trickle(guarded.app.endpoint, tokenWith(), 'x'.repeat(1001))).to.deep.equal([413, 'close']);
      expect(decided()).to.deep.equal([[null, 'deny', 'unknown_tool', 'ada']]);
    });

    it('does not read the body of a request whose token is refused, and neither waits for it nor compares its length', async () => {
      const expired = tokenWith({ exp: NOW - 60 });
      for (const [token, piece] of [
        [expired, '{'],
        [expired, 'x'.repeat(1001)],
        [`${tokenWith().slice(0, -4)}AAAA`, '{'],
        [tokenWith({ aud: 'https://wiki.example' }), '{'],
        ['x', '{'],
      ] as const) {
        expect((await trickle(guarded.app.endpoint, token, piece))[0]).to.equal(401);
      }
      const reasons = ['expired', 'expired', 'invalid_signature', 'wrong_audience', 'malformed_token'];
      expect(decided().map(([route, , reason]) => [route, reason])).to.deep.equal(reasons.map((one) => [null, one]));
    });

    it('does not read the body of a request without a token', async () => {
      expect((await trickle(guarded.app.endpoint, undefined, 'x'))[0]).to.equal(401);
      expect(decided()).to.deep.equal([[null, 'deny', 'missing_token', null]]);
    });
  });

  it('does not apply the policy of a method to a tool of the same name', async () => {
    await start({ methods: { 'resources/read': { scope: ['jira:read'] }, 'tools/list': { scope: ['jira:admin'] } } });
    expect((await send({ body: rpc('resources/read', { uri: 'jira://boards/1' }) })).text).to.include('A board.');
    expect(await statusOf({ body: rpc('tools/list') })).to.equal(403);
    expect(await statusOf({ body: call('resources/read') })).to.equal(403);
    expect(decided().map(([route, , reason]) => [route, reason])).to.deep.equal([
      ['MCP resources/read', null],
      ['MCP tools/list', 'insufficient_scope'],
      ['resources/read', 'unknown_tool'],
    ]);
  });

  it('allows a tool of any name if it has a policy, and names the tool in events', async () => {
    const scope = ['jira:read'];
    await start({ tools: { 'ticket:read': { scope }, 'lire un problème': { scope } }, methods: { 'a:b': { scope } } });
    for (const name of ['ticket:read', 'lire un problème', 'ticket:write']) await send({ body: call(name) });
    await send({ body: rpc('a:b') });
    expect(decided().map(([route, decision]) => [route, decision])).to.deep.equal([
      ['ticket:read', 'allow'],
      ['lire un problème', 'allow'],
      [null, 'deny'],
      ['MCP a:b', 'allow'],
    ]);
  });

  it('accepts the handshake only with a token that may call at least one tool', async () => {
    const tools = { alone: { scope: ['jira:read'] } };
    await start({ tools });
    const person = { act: undefined };
    expect(await reasonOf({ claims: person, body: initialize })).to.equal('no_actor');
    await guarded.app.stop();
    await start({ tools: { ...tools, together: { scope: ['jira:read'], requireActor: false } } });
    expect(await statusOf({ claims: person, body: initialize })).to.equal(200);
    expect(await statusOf({ claims: person, body: call('alone') })).to.equal(401);
  });

  it('introspects a token with introspect_required for every message', async () => {
    await start();
    fixture.plane.answerIntrospection = (_, response) => void response.writeHead(200).end('{"active":false}');
    expect(await reasonOf({ claims: { introspect_required: true }, body: rpc('tools/list') })).to.equal('not_active');
  });

  it('refuses the handshake with a longer actor chain than any tool accepts', async () => {
    await start();
    // One tool accepts a depth of three.
    expect(await statusOf({ claims: { act: chain('c', 'b', 'a') }, body: initialize })).to.equal(200);
    const answer = await send({ claims: { act: chain('d', 'c', 'b', 'a') }, body: initialize });
    expect([answer.status, JSON.parse(answer.text).reason]).to.deep.equal([403, 'delegation_too_deep']);
  });

  it('does not call the SDK after another middleware has answered', async () => {
    await start();
    const guard = guardOf();
    for (const token of [tokenWith(), tokenWith({ scope: 'wiki:read' })]) {
      const incoming = incomingWith(read, token);
      const response = new http.ServerResponse(incoming);
      response.writeHead(504);
      let reached: unknown[] | undefined;
      guard(incoming, response, (...given) => {
        reached = given;
      });
      const before = events.length;
      await eventually(() => events.length > before);
      await new Promise((resolve) => setImmediate(resolve));
      expect(reached).to.equal(undefined);
    }
  });

  it('gives a tool the token in the caller information, and hides it from a log of that information', async () => {
    await start();
    const guard = guardOf();
    const token = tokenWith();
    const incoming = incomingWith(read, token);
    await new Promise<unknown>((resolve) => guard(incoming, new http.ServerResponse(incoming), resolve));
    const { auth } = incoming as typeof incoming & { auth?: import('@modelcontextprotocol/server').AuthInfo };
    expect(auth?.token).to.equal(token);
    expect(JSON.stringify(auth)).to.equal(
      JSON.stringify({
        clientId: 'agent:triage',
        scopes: ['jira:read', 'jira:comment'],
        expiresAt: NOW + 240,
        resource: AUDIENCE,
        resourceMetadataUrl: 'https://jira.example/.well-known/oauth-protected-resource/api',
      }),
    );
    expect(claimsOf({ http: { authInfo: auth ?? { token, clientId: '', scopes: [] } } }).sub).to.equal('ada');
    expect(claimsOf(incoming).task?.sponsor).to.equal('ada@example');
  });

  it('returns no claims to an unguarded tool, even with caller information from elsewhere', async () => {
    await start();
    const authInfo = {
      token: tokenWith(),
      clientId: 'agent:triage',
      scopes: ['jira:read'],
      extra: { sub: 'mallory' },
    };
    for (const context of [{ http: { authInfo } }, { authInfo }, { http: {} }, {}]) {
      expect(() => claimsOf(context)).to.throw('is its route protected?');
    }
  });

  it('fails the start when a policy has no scope, when no tool has a policy, and when an option is unknown', async () => {
    await start();
    const made = (options: object) => () => mcpProtection(guarded.toolServer, options as never);
    expect(made({ tools: { a: { scope: [] } } })).to.throw(TypeError, /scope must be a list/);
    expect(made({ tools: { a: { scope: ['b'], highrisk: true } } })).to.throw(TypeError, /highrisk is not an option/);
    expect(made({ tools: {} })).to.throw(TypeError, /no tool has a policy/);
    expect(made({})).to.throw(TypeError, /tools must be/);
    expect(made({ tools: { a: { scope: ['b'] } }, methods: { 'tools/call': { scope: ['b'] } } })).to.throw(TypeError);
    expect(made({ tools: { a: { scope: ['b'] } }, open: ['a'] })).to.throw(TypeError, /open is not an option/);
    expect(made({ tools: { a: { scope: ['b'] } }, maxBodyBytes: 0 })).to.throw(TypeError, /maxBodyBytes/);
    for (const authorizeTimeoutMs of [0, 60_001, 1.5, '5000']) {
      expect(made({ tools: { a: { scope: ['b'] } }, authorizeTimeoutMs })).to.throw(TypeError, /authorizeTimeoutMs/);
    }
    expect(made({ tools: { a: { scope: ['b'], authorize: true } } })).to.throw(
      TypeError,
      /tools\.a\.authorize must be a function/,
    );
    const methods = { 'prompts/get': { scope: ['b'], authorize: () => true } };
    expect(made({ tools: { a: { scope: ['b'] } }, methods })).to.throw(TypeError, /authorize is not an option/);
  });
});

/** Sends part of a chunked body and never ends it. */
function trickle(url: string, token: string | undefined, piece: string): Promise<(string | number | undefined)[]> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    const request = http.request(url, { method: 'POST', headers }, (answer) => {
      resolve([answer.statusCode, answer.headers.connection]);
      answer.once('error', () => undefined);
      request.destroy();
    });
    request.once('error', reject);
    request.write(piece);
  });
}
