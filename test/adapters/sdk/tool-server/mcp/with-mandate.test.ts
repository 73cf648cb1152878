/** A guarded MCP server with the real service, the official MCP client and a plain OAuth client. */

import {
  Client,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { importJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { type Agent, createAgent, type Task } from '../../../../../adapters/sdk/agent/agent.ts';
import { type AccessEvent, createToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { freePort } from '../../../../../scripts/free-port.ts';
import { databases } from '../../../../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../../../support/mandate.ts';
import { frameworks } from '../../../../support/tool-server/guarded-apps.ts';
import { type GuardedMcp, startGuardedMcp } from '../../../../support/tool-server/guarded-mcp.ts';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const [database] = databases;

describe('A guarded MCP server with the real service', () => {
  let mandate: Mandate;
  let registered: RegisteredAgent;
  let agent: Agent;
  let jira: GuardedMcp;
  let sessions: GuardedMcp;
  let events: AccessEvent[];
  const clients: Client[] = [];
  const tasks: Task[] = [];

  before(async () => {
    if (database === undefined) throw new Error('there is no database');
    mandate = await startMandate({ database, issuer: 'own-address' });
    const toolServer = createToolServer({
      issuer: mandate.issuer,
      audience: JIRA,
      now: () => mandate.clock.now() / 1000,
      onAccess: (event) => void events.push(event),
    });
    jira = await startGuardedMcp(toolServer);
    sessions = await startGuardedMcp(toolServer, { sessions: true });
  });
  beforeEach(async () => {
    events = [];
    registered = await mandate.agent();
    agent = createAgent({
      issuer: mandate.issuer,
      agentId: registered.id,
      key: { jwk: { ...registered.key.privateJwk } },
      clock: { now: () => mandate.clock.seconds() * 1000, sleep: () => Promise.resolve(), random: () => 0 },
    });
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await Promise.all(tasks.splice(0).map((task) => task.end().catch(() => undefined)));
  });
  after(async () => {
    await Promise.all([jira.stop(), sessions.stop()]);
    await mandate.stop();
  });

  async function started(): Promise<Task> {
    const exp = mandate.clock.seconds() + 7200;
    const subjectToken = mandate.provider.mintAccessToken({ exp });
    const task = await agent.startTask({ subjectToken, resource: JIRA, scope: ['jira:read'] });
    tasks.push(task);
    return task;
  }
  async function connected(server: GuardedMcp, mode: 'auto' | 'legacy', token: () => Promise<string>): Promise<Client> {
    const client = new Client({ name: 'triage', version: '1.0.0' }, { versionNegotiation: { mode } });
    clients.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(server.endpoint), { authProvider: { token } }));
    return client;
  }
  const textOf = ({ content }: Awaited<ReturnType<Client['callTool']>>) =>
    content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const failed = (act: Promise<unknown>) =>
    act.then(
      () => new Error('the call succeeded'),
      (error: Error & { readonly status?: number }) => error,
    );

  for (const [mode, name] of [
    ['auto', 'of the newest revision'],
    ['legacy', 'of a revision with a handshake'],
  ] as const) {
    for (const kind of mode === 'auto'
      ? (['without sessions'] as const)
      : (['without sessions', 'in a session'] as const)) {
      it(`lets the official client ${name} list and call tools ${kind} until the task ends`, async () => {
        const server = kind === 'in a session' ? sessions : jira;
        const task = await started();
        const client = await connected(server, mode, () => task.token());
        const { tools } = await client.listTools();
        expect(tools.map((tool) => tool.name)).to.include.members(['read_issue', 'delete_issue']);
        for (const tool of ['read_issue', 'delete_issue']) {
          expect(JSON.parse(textOf(await client.callTool({ name: tool })))).to.deep.equal({
            sub: 'ada',
            agent: `agent:${registered.id}`,
            scope: ['jira:read'],
            task: task.id,
          });
        }
        const [before] = events.slice(-1);
        mandate.clock.advance(200);
        await client.callTool({ name: 'read_issue' });
        const [after] = events.slice(-1);
        expect([after?.route, after?.decision, after?.task_id]).to.deep.equal(['read_issue', 'allow', task.id]);
        expect(after?.jti).to.be.a('string').and.not.to.equal(before?.jti);

        await mandate.admin('DELETE', `/admin/tasks/${task.id}`);
        await client.callTool({ name: 'read_issue' });
        expect(await failed(client.callTool({ name: 'delete_issue' }))).to.be.instanceOf(UnauthorizedError);
        expect(events.slice(-2).map(({ route, reason }) => [route, reason])).to.deep.equal([
          ['read_issue', null],
          ['delete_issue', 'not_active'],
        ]);
      });
    }

    it(`refuses the official client ${name} a tool beyond its scope and an unknown tool`, async () => {
      const task = await started();
      const client = await connected(jira, mode, () => task.token());
      const [lacking, unknown] = [
        await failed(client.callTool({ name: 'comment' })),
        await failed(client.callTool({ name: 'forgotten_tool' })),
      ];
      expect(lacking).to.be.instanceOf(InsufficientScopeError);
      expect(lacking.message).to.include('"jira:read jira:comment"');
      expect(unknown).to.be.instanceOf(InsufficientScopeError);
      // The client also opens its stream, at another time: an access without a reason.
      const refusals = events.filter(({ reason }) => reason !== undefined);
      expect(refusals.slice(-2).map(({ route, reason }) => [route, reason])).to.deep.equal([
        ['comment', 'insufficient_scope'],
        ['forgotten_tool', 'unknown_tool'],
      ]);
    });
  }

  it('is discovered by a client that knows only its URL, and accepts the token of a plain OAuth client', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const port = await freePort();
    const resource = `http://127.0.0.1:${port}/mcp`;
    const ownServer = () =>
      createToolServer({
        issuer: mandate.issuer,
        audience: resource,
        now: () => mandate.clock.now() / 1000,
        onAccess: (event) => void events.push(event),
      });
    const own = await startGuardedMcp(ownServer(), { port });
    try {
      const unasked = await fetch(own.endpoint, { method: 'POST', body: '{}' });
      const { resourceMetadataUrl } = extractWWWAuthenticateParams(unasked);
      expect(resourceMetadataUrl?.href).to.equal(own.metadataUrl);
      const found = await discoverOAuthProtectedResourceMetadata(own.endpoint);
      expect([found.resource, found.authorization_servers]).to.deep.equal([resource, [mandate.issuer]]);

      const answer = await oauth.resourceDiscoveryRequest(new URL(resource), insecure);
      const metadata = await oauth.processResourceDiscoveryResponse(new URL(resource), answer);
      const issuer = new URL(metadata.authorization_servers?.[0] ?? '');
      const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
      const server = await oauth.processDiscoveryResponse(issuer, discovered);

      registered = await mandate.agent({ allowed_audiences: [resource, JIRA], high_risk_audiences: [] });
      const key = await importJWK(registered.key.privateJwk, 'ES256');
      if (key instanceof Uint8Array) throw new Error('not a private key');
      const authentication = oauth.PrivateKeyJwt({ key, kid: registered.key.kid });
      const { grant_type: _, ...form } = registered.exchangeForm({ resource, scope: 'jira:read' });
      const given = Object.entries(form).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
      // The client dates its assertion by the machine's clock, but the service's clock was moved.
      const moved = mandate.clock.seconds() - Math.floor(Date.now() / 1000);
      const client = { client_id: registered.id, [oauth.clockSkew]: moved };
      const parameters = Object.fromEntries(given);
      const issued = await oauth.processGenericTokenEndpointResponse(
        server,
        client,
        await oauth.genericTokenEndpointRequest(server, client, authentication, EXCHANGE, parameters, insecure),
      );
      const token = async () => issued.access_token;
      const reader = await connected(own, 'auto', token);
      expect(textOf(await reader.callTool({ name: 'read_issue' }))).to.include('"sub":"ada"');
      for (const framework of frameworks) {
        const other = await framework.start(ownServer());
        const headers = { authorization: `Bearer ${await token()}` };
        expect((await fetch(`${other.url}/issues/OPS-7`, { headers })).status, framework.name).to.equal(200);
        await other.stop();
      }
      expect(await failed(connected(jira, 'auto', token))).to.be.instanceOf(UnauthorizedError);
      expect(events.at(-1)?.reason).to.equal('wrong_audience');
    } finally {
      await own.stop();
    }
  });

  it('answers 503 to the official client while the service is down', async () => {
    const task = await started();
    const client = await connected(jira, 'auto', () => task.token());
    await client.callTool({ name: 'delete_issue' });
    tasks.length = 0;
    await mandate.stop();
    await client.callTool({ name: 'read_issue' });
    expect(await failed(client.callTool({ name: 'delete_issue' }))).to.have.property('status', 503);
    expect(events.slice(-2).map(({ route, reason }) => [route, reason])).to.deep.equal([
      ['read_issue', null],
      ['delete_issue', 'introspection_unavailable'],
    ]);
  });
});
