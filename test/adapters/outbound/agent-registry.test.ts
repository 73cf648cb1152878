import { expect } from 'chai';
import { adminApiAgents } from '../../../adapters/outbound/agent-registry.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { AdminApiFailure } from '../../../application/ports/admin-api.ts';
import type { AgentRegistry } from '../../../application/ports/agent-registry.ts';
import { CLEARED } from '../../../domain/agents/registration-patch.ts';
import { Secret } from '../../../domain/secret.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';
import { answering, type Handler, loopbackForSuite, startLoopback } from '../../support/loopback.ts';
import { aRegistrationBody, P256_KEY } from '../../support/registrations.ts';

const KEY = 'an-admin-key-0123456789-0123456789';
const SECRET = 'a-value-that-no-message-repeats';
const ID = agentIdOf('jira-triage');

const problem = (status: number, more: object = {}): Handler =>
  answering(JSON.stringify({ type: 'about:blank', title: 'Title', status, ...more }), status);
const agent = (changes: object = {}): Handler =>
  answering(JSON.stringify({ ...aRegistrationBody(), jwks_uri: null, enabled: false, newer: 1, ...changes }));

describe('The agent registry over the admin API', () => {
  const server = loopbackForSuite(agent());
  let pauses: number[];
  let registry: AgentRegistry;
  beforeEach(() => {
    pauses = [];
    registry = adminApiAgents({
      server: `${server.url}/behind/a/path`,
      credential: new Secret(KEY),
      network: httpNetwork(),
      pause: async (milliseconds) => pauses.push(milliseconds),
    });
  });

  async function failure(): Promise<string> {
    const thrown: unknown = await registry.find(ID).catch((error: unknown) => error);
    if (!(thrown instanceof AdminApiFailure)) throw new Error(`not a AdminApiFailure: ${String(thrown)}`);
    expect(thrown.message).not.to.contain(SECRET).and.not.to.contain(KEY);
    return thrown.message;
  }

  it('finds an agent by id, with the admin key only in the Authorization header', async () => {
    server.answer = agent();
    expect(await registry.find(ID)).to.deep.equal({
      agentId: 'jira-triage',
      displayName: 'Jira triage',
      sponsorRequired: true,
      allowedScopes: ['jira:read', 'jira:comment'],
      allowedAudiences: ['https://jira.example', 'https://wiki.example/team?space=7'],
      maxTaskTtl: 1200,
      maxTokenTtl: 240,
      maxDelegationDepth: 3,
      highRiskAudiences: ['https://vault.example'],
      keys: { kind: 'inline', jwks: { keys: [P256_KEY] } },
      mayActNames: undefined,
      redirectUris: undefined,
      publicClient: false,
      clientIdDocument: undefined,
      clientNames: undefined,
      delegatesTo: undefined,
      enabled: false,
    });
    const [asked] = server.received;
    expect(asked).to.include({ method: 'GET', path: '/behind/a/path/admin/agents/jira-triage', body: '' });
    expect(asked?.headers.authorization).to.equal(`Bearer ${KEY}`);
  });

  it('finds the names in may_act, which a service that ignores the claim does not send', async () => {
    server.answer = agent({ may_act_names: [{ sub: 'a', client_id: 'b' }, { client_id: 'c' }] });
    expect((await registry.find(ID))?.mayActNames).to.deep.equal([
      { sub: 'a', clientId: 'b' },
      { sub: undefined, clientId: 'c' },
    ]);
    server.answer = agent({ may_act_names: null });
    expect((await registry.find(ID))?.mayActNames).to.equal(undefined);
  });

  it('finds the agents that it hands work to, which a service without delegation does not send', async () => {
    server.answer = agent({ delegates_to: ['jira-triage', 'wiki-reader'] });
    expect((await registry.find(ID))?.delegatesTo).to.deep.equal(['jira-triage', 'wiki-reader']);
  });

  it('finds a client of /oauth2/authorize without keys, whose fields a service without that does not send', async () => {
    const redirectUris = ['https://triage.example/callback'];
    server.answer = agent({ jwks: null, redirect_uris: redirectUris, public_client: true, client_names: ['Triage'] });
    expect(await registry.find(ID)).to.deep.include({
      keys: { kind: 'none' },
      redirectUris,
      publicClient: true,
      clientIdDocument: undefined,
      clientNames: ['Triage'],
    });
    server.answer = agent({ jwks: null, jwks_uri: null, client_id_document: 'https://triage.example/client.json' });
    expect(await registry.find(ID)).to.deep.include({
      keys: { kind: 'none' },
      publicClient: false,
      clientIdDocument: 'https://triage.example/client.json',
    });
    server.answer = agent({ jwks: null, jwks_uri: null });
    expect(await registry.find(ID)).to.deep.include({ keys: { kind: 'none' }, publicClient: false });
  });

  it('finds an agent with a jwks_uri, and an agent with keys that a registration would refuse', async () => {
    server.answer = agent({ jwks: null, jwks_uri: 'https://keys.example/jwks.json' });
    expect((await registry.find(ID))?.keys).to.deep.equal({ kind: 'remote', uri: 'https://keys.example/jwks.json' });
    server.answer = agent({ jwks: { keys: [{ kty: 'oct' }] } });
    expect((await registry.find(ID))?.keys).to.deep.equal({ kind: 'inline', jwks: { keys: [] } });
  });

  it('returns undefined only for a 404 of the admin API', async () => {
    server.answer = problem(404);
    expect(await registry.find(ID)).to.equal(undefined);
    for (const body of [`<h1>${SECRET}</h1>`, JSON.stringify({ message: SECRET })]) {
      server.answer = answering(body, 404);
      expect(await failure()).to.equal(
        'The response (status 404) is not from the admin API, but from another program at this address or from a proxy.',
      );
    }
  });

  it('registers and changes an agent with the given fields in the format of the API', async () => {
    server.answer = answering('{}', 201);
    expect(
      await registry.register({ agentId: 'a', maxTaskTtl: 90, allowedScopes: ['x'], jwksUri: undefined }),
    ).to.deep.equal({ kind: 'registered' });
    server.answer = answering('{}', 200);
    expect(await registry.change(ID, { maxTokenTtl: CLEARED, enabled: false })).to.deep.equal({ kind: 'changed' });
    expect(server.received.map(({ method, path, body }) => [method, path, JSON.parse(body)])).to.deep.equal([
      ['POST', '/behind/a/path/admin/agents', { agent_id: 'a', allowed_scopes: ['x'], max_task_ttl: 'PT1M30S' }],
      ['PATCH', '/behind/a/path/admin/agents/jira-triage', { max_token_ttl: null, enabled: false }],
    ]);
    expect(server.received.map(({ headers }) => headers['content-type'])).to.deep.equal([
      'application/json',
      'application/json',
    ]);
  });

  it('returns already_exists for 409 and not_found for 404', async () => {
    server.answer = problem(409);
    expect(await registry.register({})).to.deep.equal({ kind: 'already_exists' });
    server.answer = problem(404);
    expect(await registry.change(ID, {})).to.deep.equal({ kind: 'not_found' });
  });

  it('returns the errors of a 409 about names', async () => {
    server.answer = problem(409, { detail: 'Conflict.', errors: { may_act_names: ['Taken.'] } });
    const refused = { kind: 'refused', errors: [{ field: 'may_act_names', sentence: 'Taken.' }] };
    expect([await registry.register({}), await registry.change(ID, {})]).to.deep.equal([refused, refused]);
  });

  it('returns the errors of a 400 by field or as a whole, without control characters', async () => {
    server.answer = problem(400, {
      errors: { max_task_ttl: ['Too long.', 7], '\u001b[2J': [`${'x'.repeat(600)}`], odd: 1 },
    });
    expect(await registry.register({})).to.deep.equal({
      kind: 'refused',
      errors: [
        { field: 'max_task_ttl', sentence: 'Too long.' },
        { field: '\\u{1b}[2J', sentence: 'x'.repeat(500) },
      ],
    });
    server.answer = problem(400, { detail: 'The body is over 64 KiB.\u0007' });
    expect(await registry.change(ID, {})).to.deep.equal({
      kind: 'refused',
      errors: [{ field: '', sentence: 'The body is over 64 KiB.\\u{7}' }],
    });
    server.answer = problem(400);
    expect(await registry.register({}).catch(String)).to.contain('The admin API answered with status 400.');
  });

  it('repeats a request while the service is busy, 45 times at most', async () => {
    const answers = [problem(429, { error: 'slow_down' }), problem(503, { error: 'temporarily_unavailable' }), agent()];
    server.answer = (request, response) => answers.shift()?.(request, response);
    expect(await registry.find(ID)).to.have.property('agentId', 'jira-triage');
    expect(pauses).to.deep.equal([2000, 2000]);
    server.answer = problem(429);
    server.received.length = 0;
    expect(await failure()).to.equal('The service was too busy for too long. Run the command again later.');
    expect(server.received).to.have.length(45);
  });

  const elsewhere = (status: number) =>
    `The response (status ${status}) is not from the admin API, but from another program at this address or from a proxy.`;
  const NO_AGENT = 'The response is not from the admin API: it did not contain the agent.';
  const failures: readonly (readonly [string, Handler, string])[] = [
    ['a wrong admin key', problem(401, { detail: SECRET }), 'The service does not accept this admin key.'],
    ['a disabled admin API', problem(503), 'The admin API is disabled there: the service has no admin key.'],
    ['status 500', problem(500, { detail: SECRET }), 'The admin API answered with status 500.'],
    ['a page of a proxy', answering(`<html>${SECRET}</html>`), elsewhere(200)],
    ['an error page of a proxy', answering(`<html>${SECRET}</html>`, 502), elsewhere(502)],
    ['another JSON object', answering(JSON.stringify({ hello: SECRET })), NO_AGENT],
    ['an agent with a wrong field', agent({ allowed_scopes: ['a', 1] }), NO_AGENT],
    ['another agent', agent({ agent_id: 'another' }), NO_AGENT],
    [
      'an answer over 1 MiB',
      answering(SECRET.repeat(50_000)),
      'The service could not be reached. The answer is longer than 1048576 bytes.',
    ],
    [
      'a cut connection',
      (_, response) => response.destroy(),
      'The service could not be reached. There was no answer (ECONNRESET).',
    ],
  ];
  for (const [what, answer, sentence] of failures) {
    it(`fails with one sentence after ${what}, and does not repeat the request`, async () => {
      server.answer = answer;
      expect(await failure()).to.equal(sentence);
      expect(pauses).to.deep.equal([]);
    });
  }

  it('does not follow a redirect', async () => {
    const elsewhere = await startLoopback(agent());
    server.answer = (_, response) => {
      response.writeHead(308, { location: `${elsewhere.url}/admin/agents/jira-triage` });
      response.end();
    };
    expect(await failure()).to.equal(
      'The answer was a redirect (status 308), which is not followed: use the address that it names.',
    );
    expect(elsewhere.received).to.deep.equal([]);
    await elsewhere.close();
  });
});
