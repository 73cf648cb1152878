import { expect } from 'chai';
import { adminApiAgents } from '../../../adapters/outbound/agent-registry.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { type AgentRegistry, RegistryFailure } from '../../../application/ports/agent-registry.ts';
import { CLEARED } from '../../../domain/agents/registration-patch.ts';
import { Secret } from '../../../domain/secret.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';
import { answering, type Handler, type Loopback, startLoopback } from '../../support/loopback.ts';
import { aRegistrationBody, P256_KEY } from '../../support/registrations.ts';

const KEY = 'an-admin-key-0123456789-0123456789';
const SECRET = 'what-answered-is-not-repeated';
const ID = agentIdOf('jira-triage');

const problem = (status: number, more: object = {}): Handler =>
  answering(JSON.stringify({ type: 'about:blank', title: 'Title', status, ...more }), status);
const agent = (changes: object = {}): Handler =>
  answering(JSON.stringify({ ...aRegistrationBody(), jwks_uri: null, enabled: false, newer: 1, ...changes }));

describe('The agents of a service, over its admin API', () => {
  let server: Loopback;
  let pauses: number[];
  let registry: AgentRegistry;
  before(async () => {
    server = await startLoopback(agent());
  });
  beforeEach(() => {
    server.received.length = 0;
    pauses = [];
    registry = adminApiAgents({
      server: `${server.url}/behind/a/path`,
      adminKey: new Secret(KEY),
      network: httpNetwork(),
      pause: async (milliseconds) => pauses.push(milliseconds),
    });
  });
  after(() => server.close());

  async function failure(): Promise<string> {
    const thrown: unknown = await registry.find(ID).catch((error: unknown) => error);
    if (!(thrown instanceof RegistryFailure)) throw new Error(`no failure: ${String(thrown)}`);
    expect(thrown.message).not.to.contain(SECRET).and.not.to.contain(KEY);
    return thrown.message;
  }

  it('are asked for by id, with the key in its header alone', async () => {
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
      enabled: false,
    });
    const [asked] = server.received;
    expect(asked).to.include({ method: 'GET', path: '/behind/a/path/admin/agents/jira-triage', body: '' });
    expect(asked?.headers.authorization).to.equal(`Bearer ${KEY}`);
  });

  it('are found with keys elsewhere, and with keys that would not be taken today', async () => {
    server.answer = agent({ jwks: null, jwks_uri: 'https://keys.example/jwks.json' });
    expect((await registry.find(ID))?.keys).to.deep.equal({ kind: 'remote', uri: 'https://keys.example/jwks.json' });
    server.answer = agent({ jwks: { keys: [{ kty: 'oct' }] } });
    expect((await registry.find(ID))?.keys).to.deep.equal({ kind: 'inline', jwks: { keys: [] } });
  });

  it('are not there when the API says so, and only then', async () => {
    server.answer = problem(404);
    expect(await registry.find(ID)).to.equal(undefined);
    for (const body of [`<h1>${SECRET}</h1>`, JSON.stringify({ message: SECRET })]) {
      server.answer = answering(body, 404);
      expect(await failure()).to.equal(
        'The response (status 404) is not from the admin API, but from another program at this address or from a proxy.',
      );
    }
  });

  it('are registered and changed with the fields that were named, durations and nulls as the API has them', async () => {
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

  it('may be there already, or gone', async () => {
    server.answer = problem(409);
    expect(await registry.register({})).to.deep.equal({ kind: 'already_exists' });
    server.answer = problem(404);
    expect(await registry.change(ID, {})).to.deep.equal({ kind: 'not_found' });
  });

  it('are refused by field, or as a whole, in sentences that no terminal obeys', async () => {
    server.answer = problem(400, {
      errors: { max_task_ttl: ['Too long.', 7], '\u001b[2J': [`${'x'.repeat(600)}`], odd: 1 },
    });
    expect(await registry.register({})).to.deep.equal({
      kind: 'refused',
      errors: [
        { field: 'max_task_ttl', sentence: 'Too long.' },
        { field: '\u{fffd}[2J', sentence: 'x'.repeat(500) },
      ],
    });
    server.answer = problem(400, { detail: 'The body is over 64 KiB.\u0007' });
    expect(await registry.change(ID, {})).to.deep.equal({
      kind: 'refused',
      errors: [{ field: '', sentence: 'The body is over 64 KiB.\u{fffd}' }],
    });
    server.answer = problem(400);
    expect(await registry.register({}).catch(String)).to.contain('The admin API answered with status 400.');
  });

  it('are asked for again by a service that is busy, until its answer comes', async () => {
    const answers = [problem(429, { error: 'slow_down' }), problem(503, { error: 'temporarily_unavailable' }), agent()];
    server.answer = (request, response) => answers.shift()?.(request, response);
    expect(await registry.find(ID)).to.have.property('agentId', 'jira-triage');
    expect(pauses).to.deep.equal([2000, 2000]);
    server.answer = problem(429);
    server.received.length = 0;
    expect(await failure()).to.equal('The service was too busy for too long. Run the command again later.');
    expect(server.received).to.have.length(45);
  });

  const failures: readonly (readonly [string, Handler, string])[] = [
    ['a wrong key', problem(401, { detail: SECRET }), 'The service does not accept this admin key.'],
    ['an admin API that is off', problem(503), 'The admin API is disabled there: the service has no admin key.'],
    ['a fault', problem(500, { detail: SECRET }), 'The admin API answered with status 500.'],
    [
      'a page of a proxy',
      answering(`<html>${SECRET}</html>`),
      'The response (status 200) is not from the admin API, but from another program at this address or from a proxy.',
    ],
    [
      'a page of a proxy that is down',
      answering(`<html>${SECRET}</html>`, 502),
      'The response (status 502) is not from the admin API, but from another program at this address or from a proxy.',
    ],
    [
      'something else in JSON',
      answering(JSON.stringify({ hello: SECRET })),
      'The response is not from the admin API: it did not contain the agent.',
    ],
    [
      'an agent that lacks a field',
      agent({ allowed_scopes: ['a', 1] }),
      'The response is not from the admin API: it did not contain the agent.',
    ],
    [
      'another agent than the one that was asked for',
      agent({ agent_id: 'another' }),
      'The response is not from the admin API: it did not contain the agent.',
    ],
    [
      'an endless answer',
      answering(SECRET.repeat(50_000)),
      'The service could not be reached. The answer is longer than 1048576 bytes.',
    ],
    [
      'a connection that is cut',
      (_, response) => response.destroy(),
      'The service could not be reached. There was no answer (ECONNRESET).',
    ],
  ];
  for (const [what, answer, sentence] of failures) {
    it(`end with a sentence at ${what}, and are not asked again`, async () => {
      server.answer = answer;
      expect(await failure()).to.equal(sentence);
      expect(pauses).to.deep.equal([]);
    });
  }

  it('are not followed to another address', async () => {
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
