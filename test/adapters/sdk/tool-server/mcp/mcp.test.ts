/** Rules specific to MCP: messages other than tool calls, sessions, streams, and resource metadata. */

import http from 'node:http';
import { inspect } from 'node:util';
import { expect } from 'chai';
import type { ToolServer, ToolServerOptions } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import {
  claimsOf,
  type McpProtectionOptions,
  type McpToolPolicy,
  mcpProtection,
} from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { eventually } from '../../../../support/eventually.ts';
import { AUDIENCE, planeForEachTest, TASK_ID } from '../../../../support/tool-server/control-plane.ts';
import {
  type GuardedMcp,
  type GuardedMcpOptions,
  startGuardedMcp,
} from '../../../../support/tool-server/guarded-mcp.ts';

const NOW = 1_900_000_000;

interface Sent {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Sent as JSON, unless it is text or bytes. */
  readonly body?: unknown;
}

const rpc = (method: string, params: object = {}, id: unknown = 7) => ({ jsonrpc: '2.0', id, method, params });
const notification = (method: string, params?: object) => ({ jsonrpc: '2.0', method, ...(params && { params }) });
const call = (name: unknown, rest: object = {}) => rpc('tools/call', { name, ...rest });
const read = call('read_issue', { arguments: {} });
const initialize = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});
const bob = { sub: 'bob', task: { id: 'task_2', exp: NOW + 1200, sponsor: 'bob' } };

/** A request with a parsed body, for a test that calls the guard without a server. */
function incomingWith(body: object, token: string) {
  return Object.assign(new http.IncomingMessage(null as never), {
    method: 'POST',
    body,
    rawHeaders: ['Authorization', `Bearer ${token}`],
  });
}

describe('The guard of an MCP server', () => {
  const fixture = planeForEachTest(() => NOW);
  const { events } = fixture;
  let toolServer: ToolServer;
  let app: GuardedMcp;

  afterEach(() => app.stop());

  async function start(options: GuardedMcpOptions = {}, server: Partial<ToolServerOptions> = {}): Promise<void> {
    toolServer = fixture.toolServer({ now: () => NOW * 1000, ...server });
    app = await startGuardedMcp(toolServer, options);
  }
  const tokenWith = (claims?: Sent['claims']) => fixture.plane.token(claims);
  const guardOf = (options: Partial<McpProtectionOptions> = {}) =>
    mcpProtection(toolServer, { tools: { read_issue: { scope: ['jira:read'] } }, ...options }).guard;

  async function send({ claims, token = tokenWith(claims), headers, method = 'POST', body }: Sent) {
    const response = await fetch(app.endpoint, {
      method,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  const statusOf = async (sent: Sent) => (await send(sent)).status;
  const reasonOf = async (sent: Sent) => JSON.parse((await send(sent)).text).reason;
  const decided = () => events.map(({ route, decision, reason, sub }) => [route, decision, reason, sub]);

  for (const parsed of [true, false]) {
    describe(parsed ? 'behind a body parser' : 'without a body parser', () => {
      beforeEach(() => start({ parsed }));

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
        expect(app.called).to.deep.equal([]);
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
          expect(app.called).to.deep.equal([]);
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
      ['a body that is not UTF-8', 400, { body: Buffer.from(JSON.stringify(rpc('ping', { x: '\u00ff' })), 'latin1') }],
      ['a body over the limit', 413, { body: `${JSON.stringify(read)}${' '.repeat(1000)}` }],
      ['a compressed body', 415, { body: 'x', headers: { 'content-encoding': 'gzip' } }],
    ] as const) {
      it(`refuses ${what} with ${status}`, async () => {
        const answer = await send(sent);
        expect(answer.status, answer.text).to.equal(status);
        expect(JSON.parse(answer.text).error.message).to.match(/\.$/);
        expect(decided()).to.deep.equal([[null, 'deny', 'unknown_tool', 'ada']]);
        expect(app.called).to.deep.equal([]);
      });
    }

    it('refuses a body over the limit without a Content-Length, and closes the connection', async () => {
      expect(await trickle(app.endpoint, tokenWith(), 'x'.repeat(1001))).to.deep.equal([413, 'close']);
      expect(decided()).to.deep.equal([[null, 'deny', 'unknown_tool', 'ada']]);
    });

    it('closes the connection when it does not read a refused body to its end', async () => {
      const expired = tokenWith({ exp: NOW - 60 });
      expect(await trickle(app.endpoint, expired, 'x'.repeat(1001))).to.deep.equal([401, 'close']);
      expect(decided()).to.deep.equal([[null, 'deny', 'expired', 'ada']]);
    });

    it('does not read the body of a request without a token', async () => {
      expect((await trickle(app.endpoint, undefined, 'x'))[0]).to.equal(401);
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

  describe('names the needed scopes in the 401 to a request without a token,', () => {
    const METADATA = 'resource_metadata="https://jira.example/.well-known/oauth-protected-resource/api"';
    const tools = { comment: { scope: ['jira:read', 'jira:comment'] }, 'lire un problème': { scope: ['jira:read'] } };
    const methods = { 'resources/read': { scope: ['jira:boards'] } };
    const challenge = async (sent: Sent) => {
      const answer = await send({ headers: { authorization: '' }, ...sent });
      expect([answer.status, JSON.parse(answer.text).reason]).to.deep.equal([401, 'missing_token']);
      // Without a token an event names no tool: a stranger could write any name into the log.
      expect(decided().at(-1)).to.deep.equal([null, 'deny', 'missing_token', null]);
      return answer.headers.get('www-authenticate')?.replace('Bearer realm="https://jira.example/api", ', '');
    };
    const naming = (method: string, name?: string) => ({
      headers: { authorization: '', 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) },
      // The guard takes the method and the tool from the headers, because it has not read the body.
      body: rpc('ping'),
    });

    it('according to the body, if a body parser has read it', async () => {
      await start({ tools, methods });
      expect(await challenge({ body: call('comment') })).to.equal(`scope="jira:read jira:comment", ${METADATA}`);
      expect(await challenge({ body: rpc('resources/read') })).to.equal(`scope="jira:boards", ${METADATA}`);
      for (const body of [
        initialize,
        call('no_such_tool'),
        call('constructor'),
        [call('comment')],
        rpc('tools/call'),
      ]) {
        expect(await challenge({ body })).to.equal(METADATA);
      }
      expect(await challenge({ method: 'GET' })).to.equal(METADATA);
    });

    it('according to the headers, if the body was not read', async () => {
      await start({ tools, methods, parsed: false });
      const encoded = `=?base64?${Buffer.from('lire un problème').toString('base64')}?=`;
      for (const [sent, scope] of [
        [naming('tools/call', 'comment'), 'scope="jira:read jira:comment", '],
        [naming('tools/call', encoded), 'scope="jira:read", '],
        [naming('resources/read', 'jira://boards/1'), 'scope="jira:boards", '],
        [naming('tools/call', 'no_such_tool'), ''],
        [naming('tools/call', '=?base64?***?='), ''],
        [naming('tools/call'), ''],
        [naming('tools/list'), ''],
        [{ body: call('comment') }, ''],
      ] as const) {
        expect(await challenge(sent)).to.equal(`${scope}${METADATA}`);
      }
    });
  });

  describe('asks the policy of a tool about the arguments', () => {
    const SECRET = 'the-salary-of-ada';
    const scope = ['jira:read'];
    const errors: unknown[] = [];
    type Authorize = NonNullable<McpToolPolicy['authorize']>;

    async function guarding(authorize: Authorize, options: Partial<McpToolPolicy> = {}, parsed = true): Promise<void> {
      errors.length = 0;
      const tools = { read_issue: { scope, authorize, ...options }, read_board: { scope } };
      await start({ tools, parsed, authorizeTimeoutMs: 30 }, { onError: (error) => void errors.push(error) });
    }
    const reading = (given?: unknown) => call('read_issue', given === undefined ? {} : { arguments: given });
    const expectNoSecret = (answer: { readonly text: string; readonly headers: Headers }) =>
      expect(
        JSON.stringify([answer.text, [...answer.headers], events, errors.map(String), inspect(errors)]),
      ).not.to.include(SECRET);

    for (const parsed of [true, false]) {
      it(`and runs the tool only if authorize() answers true${parsed ? '' : ', without a body parser'}`, async () => {
        await guarding(async ({ project }) => project === 'OPS', {}, parsed);
        expect(await statusOf({ body: reading({ project: 'OPS' }) })).to.equal(200);
        const answer = await send({ body: reading({ project: 'HR', of: SECRET }) });
        expect([answer.status, JSON.parse(answer.text)]).to.deep.equal([
          403,
          {
            error: 'insufficient_scope',
            error_description: 'The policy of the tool refuses these arguments.',
            reason: 'arguments_refused',
          },
        ]);
        // More scopes would not help, so the challenge names none.
        expect(answer.headers.get('www-authenticate')).not.to.include(' scope=');
        expectNoSecret(answer);
        expect(await statusOf({ body: call('read_board', { arguments: { project: 'HR' } }) })).to.equal(200);
        expect(app.called).to.deep.equal(['read_issue', 'read_board']);
        expect(decided()).to.deep.equal([
          ['read_issue', 'allow', null, 'ada'],
          ['read_issue', 'deny', 'arguments_refused', 'ada'],
          ['read_board', 'allow', null, 'ada'],
        ]);
        expect(errors).to.deep.equal([]);
      });
    }

    it('with the verified claims and the name of the tool', async () => {
      const asked: unknown[] = [];
      await guarding((args, { claims, tool, signal }) => {
        asked.push([args, claims.sub, claims.act?.sub, claims.task?.id, tool, signal.aborted]);
        return true;
      });
      expect(await statusOf({ body: reading({ key: 'OPS-7' }) })).to.equal(200);
      expect(await statusOf({ body: reading() })).to.equal(200);
      expect(asked).to.deep.equal([
        [{ key: 'OPS-7' }, 'ada', 'agent:triage', TASK_ID, 'read_issue', false],
        [{}, 'ada', 'agent:triage', TASK_ID, 'read_issue', false],
      ]);
    });

    for (const [what, authorize, message] of [
      [
        'throws',
        ({ of }) => {
          throw new Error(`No rule for ${String(of)}.`);
        },
        'authorize of read_issue threw an error.',
      ],
      [
        'rejects',
        ({ of }) => Promise.reject(new Error(`No rule for ${String(of)}.`)),
        'authorize of read_issue threw an error.',
      ],
      ['never answers', () => new Promise(() => undefined), 'authorize of read_issue did not answer within 30 ms.'],
      ['answers a text', () => 'yes', 'authorize of read_issue answered neither true nor false.'],
      ['answers nothing', () => undefined, 'authorize of read_issue answered neither true nor false.'],
    ] as readonly (readonly [string, (args: Readonly<Record<string, unknown>>) => unknown, string])[]) {
      it(`and refuses the call if authorize() ${what}, and repeats no argument`, async () => {
        await guarding(authorize as Authorize);
        const answer = await send({ body: reading({ of: SECRET }) });
        expect([answer.status, JSON.parse(answer.text).reason]).to.deep.equal([503, 'policy_unavailable']);
        expect(errors.map((error) => (error as Error).message)).to.deep.equal([message]);
        expectNoSecret(answer);
        expect(decided()).to.deep.equal([['read_issue', 'deny', 'policy_unavailable', 'ada']]);
        expect(app.called).to.deep.equal([]);
      });
    }

    it('and aborts the signal of authorize() after its time limit', async () => {
      let signal: AbortSignal | undefined;
      await guarding((_, access) => {
        signal = access.signal;
        return new Promise(() => undefined);
      });
      expect(await statusOf({ body: reading() })).to.equal(503);
      expect(signal?.aborted).to.equal(true);
    });

    it('only after it has verified and introspected the token', async () => {
      let asked = 0;
      await guarding(
        () => {
          asked += 1;
          return true;
        },
        { highRisk: true },
      );
      expect(await statusOf({ body: reading(), claims: { aud: 'https://wiki.example' } })).to.equal(401);
      expect(await statusOf({ body: reading(), claims: { scope: 'wiki:read' } })).to.equal(403);
      fixture.plane.answerIntrospection = (_, response) => void response.writeHead(200).end('{"active":false}');
      expect(await reasonOf({ body: reading() })).to.equal('not_active');
      expect(asked).to.equal(0);
    });

    it('with a copy of the arguments, so that authorize() cannot change those of the tool', async () => {
      await guarding((args) => {
        (args as Record<string, unknown>).key = 'HR-1';
        return true;
      });
      const incoming = incomingWith(reading({ key: 'OPS-7' }), tokenWith());
      const guard = guardOf({
        tools: { read_issue: { scope, authorize: (args) => Reflect.set(args, 'key', 'HR-1') } },
      });
      await new Promise<unknown>((resolve) => guard(incoming, new http.ServerResponse(incoming), resolve));
      expect(incoming.body).to.deep.equal(reading({ key: 'OPS-7' }));
    });

    for (const [what, given] of [
      ['a list', '["OPS-7"]'],
      ['null', 'null'],
      ['a text', '"OPS-7"'],
      ['__proto__', '{"__proto__":{"project":"HR"}}'],
      ['__proto__ inside', '{"filter":[{"__proto__":{"project":"HR"}}]}'],
    ] as const) {
      it(`but refuses arguments that two readers could understand differently: ${what}`, async () => {
        await guarding(() => true);
        const body = JSON.stringify(reading('GIVEN')).replace('"GIVEN"', given);
        expect(await reasonOf({ body })).to.equal('arguments_refused');
        expect(app.called).to.deep.equal([]);
      });
    }
  });

  it('accepts the handshake only with a token that may call at least one tool', async () => {
    const tools = { alone: { scope: ['jira:read'] } };
    await start({ tools });
    const person = { act: undefined };
    expect(await reasonOf({ claims: person, body: initialize })).to.equal('no_actor');
    await app.stop();
    await start({ tools: { ...tools, together: { scope: ['jira:read'], requireActor: false } } });
    expect(await statusOf({ claims: person, body: initialize })).to.equal(200);
    expect(await statusOf({ claims: person, body: call('alone') })).to.equal(401);
  });

  it('introspects a token with introspect_required for every message', async () => {
    await start();
    fixture.plane.answerIntrospection = (_, response) => void response.writeHead(200).end('{"active":false}');
    expect(await reasonOf({ claims: { introspect_required: true }, body: rpc('tools/list') })).to.equal('not_active');
  });

  describe('with sessions', () => {
    const started = async (claims: Sent['claims'] = {}) => {
      const answer = await send({ claims, body: initialize });
      expect(answer.status, answer.text).to.equal(200);
      return answer.headers.get('mcp-session-id') ?? '';
    };
    const inSession = (session: string, sent: Sent) =>
      send({ ...sent, headers: { 'mcp-session-id': session, ...sent.headers } });

    for (const parsed of [true, false]) {
      describe(parsed ? 'behind a body parser' : 'without a body parser', () => {
        beforeEach(() => start({ sessions: true, parsed }));

        it('lets the same person and agent continue a session with another token', async () => {
          const session = await started();
          for (const claims of [{}, { jti: 'tok_2' }, { task: { id: 'task_2', exp: NOW + 60, sponsor: 'ada' } }]) {
            const answer = await inSession(session, { claims, body: read });
            expect(answer.status, answer.text).to.equal(200);
            expect(answer.headers.get('mcp-session-id')).to.equal(session);
          }
          expect((await inSession(session, { method: 'DELETE' })).status).to.equal(200);
          expect((await inSession(session, { body: read })).status).to.equal(404);
          expect(app.called).to.have.lengthOf(3);
        });

        for (const [who, claims] of [
          ['another person', bob],
          ['another agent', { act: chain('other') }],
          ['another agent that the first agent called', { act: chain('other', 'triage') }],
          ['the person alone', { act: undefined }],
        ] as const) {
          it(`answers ${who} as if the session were unknown`, async () => {
            const session = await started();
            events.length = 0;
            for (const sent of [
              { body: call('read_sprint') },
              { body: rpc('ping') },
              { body: { jsonrpc: '2.0', id: 7, result: {} } },
              { body: notification('notifications/cancelled', { requestId: 7 }) },
              { method: 'GET' },
              { method: 'DELETE' },
            ]) {
              const answer = await inSession(session, { ...sent, claims });
              const isTool = JSON.stringify(sent).includes('read_sprint');
              // This tool refuses a person without an agent.
              expect(answer.status, answer.text).to.equal(isTool && who === 'the person alone' ? 401 : 404);
              if (answer.status === 404) {
                expect(JSON.parse(answer.text).error).to.deep.equal({ code: -32001, message: 'Session not found' });
              }
            }
            expect(app.called).to.deep.equal([]);
            expect(new Set(events.map((event) => event.decision))).to.deep.equal(new Set(['deny']));
            expect(events).to.have.lengthOf(6);
            expect((await inSession(session, { body: read })).status).to.equal(200);
          });
        }

        it('refuses a session id that it did not issue, also the one that the SDK issued', async () => {
          const session = await started();
          const id = session.slice(0, session.lastIndexOf('.'));
          const other = await started(bob);
          for (const forged of [
            ...[id, `${id}.`, `.${session.split('.')[1]}`, `${id}.${other.split('.')[1]}`, `${session}A`, 'x', '.', ''],
            `${session}, ${session}`,
          ]) {
            expect((await inSession(forged, { body: read })).status, forged).to.equal(404);
          }
          expect(app.called).to.deep.equal([]);
        });
      });
    }

    it('closes the stream of a session when its token expires', async () => {
      // With the clock skew the token is accepted for ten more milliseconds.
      await start({ sessions: true }, { now: () => NOW * 1000 - 10 });
      const session = await started();
      await expectCut(inSession(session, { method: 'GET', claims: { exp: NOW - 60 } }));
      expect(decided().at(-1)).to.deep.equal(['MCP GET', 'allow', null, 'ada']);
    });
  });

  it('ends a subscription when its token expires', async () => {
    await start({}, { now: () => NOW * 1000 - 10 });
    const meta = 'io.modelcontextprotocol/';
    const envelope = {
      [`${meta}protocolVersion`]: '2026-07-28',
      [`${meta}clientInfo`]: { name: 'test', version: '1' },
      [`${meta}clientCapabilities`]: {},
    };
    const body = rpc('subscriptions/listen', { notifications: { toolsListChanged: true }, _meta: envelope });
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
    await expectCut(send({ body, headers, claims: { exp: NOW - 60 } }));
    expect(decided()).to.deep.equal([['MCP subscriptions/listen', 'allow', null, 'ada']]);
  });

  it('ends a subscription to resources when its token expires', async () => {
    await start({}, { now: () => NOW * 1000 - 10 });
    const guard = guardOf({ methods: { 'resources/subscribe': { scope: ['jira:read'] } } });
    for (const body of [
      rpc('subscriptions/listen', { notifications: { resourceSubscriptions: ['jira://boards/1'] } }),
      rpc('resources/subscribe', { uri: 'jira://boards/1' }),
    ]) {
      const incoming = incomingWith(body, tokenWith({ exp: NOW - 60 }));
      const response = new http.ServerResponse(incoming);
      await new Promise<unknown>((resolve) => guard(incoming, response, resolve));
      await eventually(() => response.destroyed);
    }
    expect(decided()).to.deep.equal(Array(2).fill(['MCP resources/subscribe', 'allow', null, 'ada']));
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

  it('hides the token in the caller information that a log would show', async () => {
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
    const made = (options: object) => () => mcpProtection(toolServer, options as never);
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

  describe('publishes the metadata', () => {
    const AT_ROOT = '/.well-known/oauth-protected-resource';

    for (const [audience, path] of [
      ['https://jira.example/api', `${AT_ROOT}/api`],
      ['https://jira.example', AT_ROOT],
      ['https://jira.example/', AT_ROOT],
      ['https://jira.example:8443/a/b/?tenant=7', `${AT_ROOT}/a/b/?tenant=7`],
    ] as const) {
      it(`of ${audience} at ${path}, without a token`, async () => {
        await start({}, { audience });
        expect(app.metadataUrl).to.equal(`${new URL(audience).origin}${path}`);
        const answer = await fetch(`${app.url}${path}`);
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('content-type')).to.equal('application/json');
        expect(answer.headers.get('access-control-allow-origin')).to.equal('*');
        expect(await answer.json()).to.deep.equal({
          resource: audience,
          authorization_servers: [fixture.plane.issuer],
          scopes_supported: ['jira:comment', 'jira:read'],
          bearer_methods_supported: ['header'],
        });
        expect(events).to.deep.equal([]);
      });
    }

    it('only by GET and at this address, also to scripts of other origins', async () => {
      await start();
      const at = `${app.url}${AT_ROOT}/api`;
      const asked = await fetch(at, { method: 'OPTIONS' });
      expect([asked.status, asked.headers.get('access-control-allow-methods')]).to.deep.equal([204, 'GET']);
      expect(await (await fetch(at, { method: 'HEAD' })).text()).to.equal('');
      expect((await fetch(at, { method: 'POST' })).status).to.equal(405);
      for (const other of [`${app.url}${AT_ROOT}`, `${at}/more`, `${at}?x=1`]) {
        expect((await fetch(other)).status).to.equal(404);
      }
    });
  });
});

/** Fails unless the connection is cut before the whole response has arrived. */
async function expectCut(response: Promise<{ readonly text: string }>): Promise<void> {
  expect(await response.catch((error: unknown) => error)).to.be.instanceOf(TypeError);
}

/** An actor chain, outermost agent first. */
function chain(agent: string, ...inner: readonly string[]): object {
  const [next, ...rest] = inner;
  return { sub: `agent:${agent}`, depth: inner.length + 1, ...(next !== undefined && { act: chain(next, ...rest) }) };
}

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
