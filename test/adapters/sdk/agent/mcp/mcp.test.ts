/** `mcpAuthorization` in the official MCP client of SDK 2 and SDK 1, with the real service and a guarded MCP server. */

import {
  Client,
  type OAuthClientProvider,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import {
  StreamableHTTPError,
  StreamableHTTPClientTransport as Transport1,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { type Agent, createAgent, Refused, TaskOver } from '../../../../../adapters/sdk/agent/agent.ts';
import {
  type McpAuthorization,
  type McpAuthorizationOptions,
  mcpAuthorization,
} from '../../../../../adapters/sdk/agent/mcp/mcp.ts';
import { type AccessEvent, createToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { freePort } from '../../../../../scripts/free-port.ts';
import { databases } from '../../../../support/databases.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../../../../support/mandate.ts';
import { FAULTY, type GuardedMcp, PICKY, startGuardedMcp } from '../../../../support/tool-server/guarded-mcp.ts';

interface Sent {
  readonly url: string;
  readonly text: string;
  readonly answer: string;
}

interface Connected {
  call(name: string): Promise<string>;
  close(): Promise<void>;
}

type Connect = (url: string, authProvider: OAuthClientProvider, fetch: typeof globalThis.fetch) => Promise<Connected>;

const textIn = ({ content }: Readonly<Record<string, unknown>>): string =>
  (content as readonly { readonly text?: string }[]).map(({ text }) => text ?? '').join('');

const sdk2 =
  (mode: 'auto' | 'legacy'): Connect =>
  async (url, authProvider, fetch) => {
    const client = new Client({ name: 'triage', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider, fetch }));
    return { call: async (name) => textIn(await client.callTool({ name })), close: () => client.close() };
  };

const sdk1: Connect = async (url, authProvider, fetch) => {
  const client = new Client1({ name: 'triage', version: '1.0.0' });
  // The types of the two SDKs differ in members that are optional here.
  const options = { authProvider, fetch } as unknown as ConstructorParameters<typeof Transport1>[1];
  // The types of SDK 1 do not support exactOptionalPropertyTypes.
  await client.connect(new Transport1(new URL(url), options) as unknown as Parameters<Client1['connect']>[0]);
  return { call: async (name) => textIn(await client.callTool({ name })), close: () => client.close() };
};

const SDKS: readonly (readonly [string, Connect])[] = [
  ['SDK 2', sdk2('auto')],
  ['SDK 2 with a handshake', sdk2('legacy')],
  ['SDK 1', sdk1],
];

describe('mcpAuthorization', () => {
  let mandate: Mandate;
  let registered: RegisteredAgent;
  let agent: Agent;
  let jira: GuardedMcp;
  let resource: string;
  let events: AccessEvent[];
  let sent: Sent[];
  const closing: (() => Promise<unknown>)[] = [];

  const [database] = databases;
  before(async () => {
    if (database === undefined) throw new Error('there is no database');
    mandate = await startMandate({ database, issuer: 'own-address' });
    const port = await freePort();
    resource = `http://127.0.0.1:${port}/mcp`;
    jira = await startGuardedMcp(toolServerFor(resource), { port });
  });
  beforeEach(async () => {
    events = [];
    sent = [];
    registered = await mandate.agent({
      allowed_audiences: [resource, 'https://wiki.example'],
      high_risk_audiences: [],
    });
    agent = createAgent({
      issuer: mandate.issuer,
      agentId: registered.id,
      key: { jwk: { ...registered.key.privateJwk } },
      clock: { now: () => mandate.clock.seconds() * 1000, sleep: () => Promise.resolve(), random: () => 0 },
    });
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close().catch(() => undefined);
  });
  after(async () => {
    await jira.stop();
    await mandate.stop();
  });

  function toolServerFor(audience: string, issuer = mandate.issuer) {
    return createToolServer({
      issuer,
      audience,
      now: () => mandate.clock.now() / 1000,
      onAccess: (event) => void events.push(event),
      onError: () => undefined,
    });
  }
  const personsToken = (scope = 'jira:read jira:comment') =>
    mandate.provider.mintAccessToken({ scope, exp: mandate.clock.seconds() + 7200 });
  function providing(options: Partial<McpAuthorizationOptions> = {}): McpAuthorization {
    const provider = mcpAuthorization({ agent, subjectToken: personsToken(), scope: ['jira:read'], ...options });
    closing.push(() => provider.end());
    return provider;
  }
  /** Sends the client's requests, and records them in `sent`. */
  const recording: typeof globalThis.fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const text = `${[...new Headers(init?.headers)].join('\n')}\n${String(init?.body ?? '')}`;
    const isToken = String(input).endsWith('/oauth2/token');
    sent.push({ url: String(input), text, answer: isToken ? await answer.clone().text() : '' });
    return answer;
  };
  async function connected(connect: Connect, provider: McpAuthorization, url = jira.endpoint): Promise<Connected> {
    const client = await connect(url, provider, recording);
    closing.push(() => client.close());
    return client;
  }
  /** The status that a client's error has. */
  const statusIn = (error: Error) => {
    if (error instanceof SdkHttpError) return error.status;
    return error instanceof StreamableHTTPError ? error.code : error;
  };
  const failed = (act: Promise<unknown>) =>
    act.then(
      () => new Error('it succeeded'),
      (error: Error) => error,
    );
  const tokenRequests = () => sent.filter(({ url }) => url === `${mandate.issuer}/oauth2/token`);
  const asked = () => tokenRequests().map(({ text }) => new URLSearchParams(text.split('\n').at(-1)).get('scope'));
  const records = async (event: string) =>
    (await mandate.ledger()).filter((line) => line.agent_id === registered.id && line.event === event);

  for (const [name, connect] of SDKS) {
    describe(`in ${name}`, () => {
      it('gets a token after a 401 and more scopes after a 403, for this server alone', async () => {
        const subjectToken = personsToken();
        const provider = providing({ subjectToken });
        const client = await connected(connect, provider);
        const read = JSON.parse(await client.call('read_issue'));
        const first = provider.task;
        expect(read).to.deep.equal({
          sub: 'ada',
          agent: `agent:${registered.id}`,
          scope: ['jira:read'],
          task: first?.id,
        });

        const commented = JSON.parse(await client.call('comment'));
        expect([commented.scope, commented.task]).to.deep.equal([['jira:read', 'jira:comment'], provider.task?.id]);
        expect(asked()).to.deep.equal(['jira:read', 'jira:read jira:comment']);
        // The provider has ended the task with fewer scopes, because the new task replaces it.
        expect((await records('task.revoked')).map((line) => line.task_id)).to.deep.equal([first?.id]);

        const grants = tokenRequests().map(({ answer }) => String(JSON.parse(answer).refresh_token));
        expect(grants).to.have.lengthOf(2);
        const toServer = JSON.stringify(sent.filter(({ url }) => !url.startsWith(mandate.issuer)));
        for (const secret of [subjectToken, ...grants, 'actor_token']) expect(toServer).not.to.include(secret);
        expect(new Set(sent.map(({ url }) => url))).to.deep.equal(
          new Set([jira.endpoint, jira.metadataUrl, `${mandate.issuer}/oauth2/token`]),
        );
      });

      it('renews the token with the grant of the task before the token expires', async () => {
        const provider = providing();
        const client = await connected(connect, provider);
        await client.call('read_issue');
        const before = events.at(-1);
        mandate.clock.advance(200);
        await client.call('read_issue');
        const after = events.at(-1);
        expect([after?.decision, after?.task_id]).to.deep.equal(['allow', provider.task?.id]);
        expect(after?.task_id).to.equal(before?.task_id);
        expect(after?.jti).to.be.a('string').and.not.to.equal(before?.jti);
        expect(tokenRequests()).to.have.lengthOf(1);
      });

      it('gets no scope that the person does not have', async () => {
        const provider = providing({ subjectToken: personsToken('jira:read') });
        const client = await connected(connect, provider);
        jira.called.length = 0;
        expect(statusIn(await failed(client.call('comment')))).to.equal(403);
        expect(provider.task?.scope).to.deep.equal(['jira:read']);
        expect(jira.called).to.deep.equal([]);
        expect(JSON.parse(await client.call('read_issue')).scope).to.deep.equal(['jira:read']);
      });

      it('says in its error which status the server answered', async () => {
        const provider = providing();
        const rejecting: typeof globalThis.fetch = (input, init) =>
          String(init?.body).includes('"read_issue"')
            ? Promise.resolve(new Response('', { status: 401 }))
            : recording(input, init);
        const client = await connect(jira.endpoint, provider, rejecting);
        closing.push(() => client.close());
        for (const [tool, status] of [
          [PICKY, 403],
          [FAULTY, 503],
          ['read_issue', 401],
        ] as const) {
          expect(statusIn(await failed(client.call(tool))), tool).to.equal(status);
        }
        for (const tool of [PICKY, FAULTY]) expect(jira.called).not.to.include(tool);
        expect(events.filter(({ decision }) => decision === 'deny').map(({ reason }) => reason)).to.include.members([
          'arguments_refused',
          'policy_unavailable',
        ]);
      });

      it('starts no other task when its task was revoked', async () => {
        const provider = providing();
        const client = await connected(connect, provider);
        await mandate.admin('DELETE', `/admin/tasks/${provider.task?.id}`);
        for (const tool of ['delete_issue', 'comment', 'read_issue']) {
          const error = await failed(client.call(tool));
          expect(error, error.message).to.be.instanceOf(TaskOver).and.to.have.property('reason', 'task_revoked');
        }
        expect(tokenRequests()).to.have.lengthOf(1);
      });

      it('throws the refusal of a wrong subject token to the program, after one request', async () => {
        const error = await failed(connected(connect, providing({ subjectToken: 'stolen' })));
        expect(error).to.be.instanceOf(Refused).and.to.have.property('error', 'invalid_grant');
        expect(tokenRequests()).to.have.lengthOf(1);
        expect(error.message).not.to.include('stolen');
        expect((await records('token.denied')).map(({ reason }) => reason)).to.deep.equal(['subject_malformed']);
      });

      it("throws invalid_client to the program when the control plane refuses the agent's key", async () => {
        const { key } = await mandate.agent();
        const wrong = createAgent({
          issuer: mandate.issuer,
          agentId: registered.id,
          key: { jwk: { ...key.privateJwk } },
          clock: { now: () => mandate.clock.seconds() * 1000, sleep: () => Promise.resolve(), random: () => 0 },
        });
        const error = await failed(connected(connect, providing({ agent: wrong })));
        expect(error).to.be.instanceOf(Refused).and.to.have.property('error', 'invalid_client');
        expect(tokenRequests()).to.have.lengthOf(1);
        // The record names no agent, because the signature of the assertion was not verified.
        expect((await mandate.ledger()).map(({ reason }) => reason)).to.include('actor_unknown_key');
      });

      it('throws any other refusal of the exchange to the program, with the sentence of the control plane', async () => {
        const error = await failed(connected(connect, providing({ scope: ['jira:unheard-of'] })));
        expect(error.message).to.include('None of the requested scopes is held by both the person and the agent.');
        expect(tokenRequests()).to.have.lengthOf(1);
        expect((await records('token.denied')).map(({ reason }) => reason)).to.deep.equal(['scope_intersection_empty']);
      });
    });
  }

  const [[, connect] = ['', sdk2('auto')]] = SDKS;

  it('requests the scopes that the server names, if the program gave none', async () => {
    const provider = mcpAuthorization({ agent, subjectToken: async () => personsToken() });
    closing.push(() => provider.end());
    await connected(connect, provider);
    expect(asked()).to.deep.equal(['jira:comment jira:read']);
    expect(provider.task?.scope).to.have.members(['jira:comment', 'jira:read']);
  });

  it('gets the current token of the person from the program for each exchange', async () => {
    const given: string[] = [];
    const provider = providing({
      subjectToken: async () => {
        given.push(personsToken());
        return given.at(-1) ?? '';
      },
    });
    const client = await connected(connect, provider);
    await client.call('comment');
    expect(given).to.have.lengthOf(2);
  });

  it('makes another exchange with a new token of the person after a refusal', async () => {
    const given = ['stolen', personsToken()];
    const provider = providing({ subjectToken: () => given.shift() ?? '' });
    expect(await failed(connected(connect, provider))).to.be.instanceOf(Refused);
    const client = await connected(connect, provider);
    expect(JSON.parse(await client.call('read_issue')).sub).to.equal('ada');
    expect(tokenRequests()).to.have.lengthOf(2);
  });

  for (const given of [undefined, '', ' ', 'Bearer a.b.c']) {
    it(`sends no token request if the program returns ${JSON.stringify(given)} as the token of the person`, async () => {
      const provider = providing({ subjectToken: async () => given as string });
      expect(await failed(connected(connect, provider)))
        .to.be.instanceOf(TypeError)
        .with.property('message', 'mcpAuthorization: subjectToken must return an access token: a text without spaces.');
      expect(tokenRequests()).to.have.lengthOf(0);
    });
  }

  it('gets more scopes for two concurrent calls that need them', async () => {
    const provider = providing();
    const client = await connected(connect, provider);
    const answers = await Promise.all([client.call('comment'), client.call('comment')]);
    for (const answer of answers) expect(JSON.parse(answer).scope).to.deep.equal(['jira:read', 'jira:comment']);
  });

  it('asks for more scopes in the new task if a concurrent call replaced the task during a renewal', async () => {
    let meanwhile: (() => Promise<void>) | undefined;
    const delayed = createAgent({
      issuer: mandate.issuer,
      agentId: registered.id,
      key: { jwk: { ...registered.key.privateJwk } },
      clock: { now: () => mandate.clock.seconds() * 1000, sleep: () => Promise.resolve(), random: () => 0 },
      fetch: async (input, init) => {
        if (new URLSearchParams(String(init?.body)).get('grant_type') === 'refresh_token') await meanwhile?.();
        return fetch(input, init);
      },
    });
    const provider = providing({ agent: delayed });
    await connected(connect, provider);
    const [{ answer } = { answer: '' }] = tokenRequests();
    const first = provider.task;
    const { body } = await registered.exchange({ subject_token: personsToken(), resource, scope: 'jira:read' });
    meanwhile = async () => provider.saveTokens({ ...JSON.parse(answer), ...body });
    const form = await provider.prepareTokenRequest('jira:comment');
    expect(form?.get('scope')).to.equal('jira:read jira:comment');
    expect(provider.task?.id).to.equal(body.task_id).and.not.to.equal(first?.id);
  });

  it('ends a task whose exchange was under way when end() was called', async () => {
    const provider = providing({
      subjectToken: async () => {
        await provider.end();
        return personsToken();
      },
    });
    expect(await failed(connected(connect, provider))).to.be.instanceOf(TaskOver);
    expect(await records('token.issued')).to.have.lengthOf(1);
    expect(await records('task.revoked')).to.have.lengthOf(1);
  });

  it('ends its task on end(), and returns no token afterwards', async () => {
    const provider = providing();
    const client = await connected(connect, provider);
    await provider.end();
    expect((await records('task.revoked')).map((line) => line.task_id)).to.deep.equal([provider.task?.id]);
    expect(await failed(client.call('read_issue')))
      .to.be.instanceOf(TaskOver)
      .and.to.have.property('reason', 'ended');
    const unused = providing();
    await unused.end();
    expect(await failed(connected(connect, unused))).to.be.instanceOf(TaskOver);
    expect(tokenRequests()).to.have.lengthOf(1);
  });

  describe('sends no token request for a server', () => {
    const cases: readonly (readonly [
      string,
      RegExp,
      (port: number) => Partial<Record<'audience' | 'issuer', string>>,
      Partial<McpAuthorizationOptions>?,
    ])[] = [
      ['that names another control plane', /does not name this control plane/, () => ({ issuer: 'https://m.example' })],
      ['that lies outside its resource', /not within its resource/, () => ({ audience: 'https://wiki.example/mcp' })],
      ['with a similar path', /not within its resource/, (port) => ({ audience: `http://127.0.0.1:${port}/mc` })],
      ['that names another resource', /names another resource/, () => ({}), { resource: 'https://a.example' }],
      [
        'at another origin than the program listed',
        /not within its resource/,
        () => ({ audience: 'https://wiki.example/mcp' }),
        { resource: 'https://wiki.example/mcp', origins: ['https://wiki.example'] },
      ],
    ];
    for (const [what, message, changes, options] of cases) {
      it(what, async () => {
        const port = await freePort();
        const { audience = `http://127.0.0.1:${port}/mcp`, issuer } = changes(port);
        const server = await startGuardedMcp(toolServerFor(audience, issuer), { port });
        closing.push(() => server.stop());
        const served = new URL(server.metadataUrl);
        // Sends requests for the audience's host to this machine.
        const here: typeof globalThis.fetch = (input, init) =>
          recording(String(input).replace(served.origin, server.url), init);
        const error = await failed(connect(server.endpoint, providing(options), here));
        expect(error.message).to.match(message);
        expect(tokenRequests()).to.deep.equal([]);
      });
    }

    it('without metadata', async () => {
      const provider = providing();
      const hidden: typeof globalThis.fetch = (input, init) =>
        String(input).includes('.well-known')
          ? Promise.resolve(new Response('', { status: 404 }))
          : recording(input, init);
      const error = await failed(connect(jira.endpoint, provider, hidden));
      expect(error.message).to.match(/no protected-resource metadata/);
      expect(tokenRequests()).to.deep.equal([]);
    });

    it('other than the first one that it was used with', async () => {
      const provider = providing();
      await connected(connect, provider);
      const metadata = { resource, authorization_servers: [mandate.issuer] };
      const { discoveryState, saveDiscoveryState } = provider;
      await saveDiscoveryState?.({ ...(await discoveryState?.()), resourceMetadata: metadata } as never);
      const other = await failed(Promise.resolve(provider.validateResourceURL(`${resource}/other`, resource)));
      expect(other.message).to.match(/belongs to another server/);
    });
  });

  it('gets a token for a server at another origin than its resource, if the program lists the origin', async () => {
    const port = await freePort();
    const audience = 'https://wiki.example';
    const server = await startGuardedMcp(toolServerFor(audience), { port });
    closing.push(() => server.stop());
    const provider = providing({ resource: audience, origins: [server.url] });
    const here: typeof globalThis.fetch = (input, init) =>
      recording(String(input).replace('https://wiki.example', server.url), init);
    const client = await connect(server.endpoint, provider, here);
    closing.push(() => client.close());
    expect(JSON.parse(await client.call('read_issue')).sub).to.equal('ada');
    expect(provider.task?.resource).to.equal(audience);
  });

  it('refuses to add tokens to a request for another address than the token endpoint', async () => {
    const provider = providing();
    await connected(connect, provider);
    const form = new URLSearchParams({ scope: 'jira:read' });
    const adding = provider.addClientAuthentication(new Headers(), form, new URL(jira.endpoint));
    expect((await failed(Promise.resolve(adding))).message).to.match(/elsewhere/);
    expect([...form]).to.deep.equal([['scope', 'jira:read']]);
  });

  it('refuses an answer with a scope that it did not request', async () => {
    const provider = providing();
    const client = await connected(connect, provider);
    const { answer } = tokenRequests()[0] ?? { answer: '{}' };
    const wider = { ...JSON.parse(answer), scope: 'jira:read jira:admin' };
    const error = await failed(Promise.resolve(provider.saveTokens(wider)));
    expect(error).to.be.instanceOf(Refused).and.to.have.property('reason', 'scope_wider_than_asked');
    expect(JSON.parse(await client.call('read_issue')).scope).to.deep.equal(['jira:read']);
  });

  it('fails at once for an invalid option', () => {
    const subjectToken = 'x';
    expect(() => mcpAuthorization({ agent: { ...agent }, subjectToken })).to.throw(TypeError, /createAgent/);
    expect(() => mcpAuthorization({ agent, subjectToken, resource: 'jira' })).to.throw(TypeError, /resource/);
    expect(() => mcpAuthorization({ agent, subjectToken, scope: [] })).to.throw(TypeError, /scope/);
    expect(() => mcpAuthorization({ agent, subjectToken: undefined as never })).to.throw(TypeError, /subjectToken/);
    expect(() => mcpAuthorization({ agent, subjectToken, origins: ['https://a.example'] })).to.throw(
      TypeError,
      'resource must be given with origins',
    );
    for (const origin of ['a.example', 'data:,', 'file:///a']) {
      expect(() => mcpAuthorization({ agent, subjectToken, resource, origins: [origin] })).to.throw(
        TypeError,
        'origins[0] must be an http or https URL',
      );
    }
  });
});
