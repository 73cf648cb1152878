/** The schemas of requests accept what the service accepts, and refuse what it refuses. */

import { expect } from 'chai';
import { databases } from '../../support/databases.ts';
import { type Mandate, type RegisteredAgent, sharedMandate } from '../../support/mandate.ts';
import { below, nodeAt, operationOf, problemsOf } from '../../support/openapi/api-document.ts';

const long = 'x'.repeat(257);
const A_TASK = `task_${'0'.repeat(26)}`;

/** Values of a registration's member. */
const MEMBERS: Readonly<Record<string, readonly unknown[]>> = {
  display_name: ['Triage', 'é', '', ' ', long, null, 1],
  sponsor_required: [true, false, 'true'],
  allowed_scopes: [['a'], ['jira:read', '!~[]'], [], ['a', 'a'], ['a b'], ['"'], ['\\'], ['é'], [''], [long], 'a'],
  allowed_audiences: [
    ...[['https://a.example'], ['http://a.example/b?c=d'], ['HTTPS://a.example'], [], ['a'], ['ftp://a.example']],
    ...[['https://a.example', 'https://a.example'], ['https://é.example'], ['https://a.example/ b']],
  ],
  high_risk_audiences: [[], ['https://a.example'], ['ftp://a.example'], ['https://a b']],
  max_task_ttl: ['PT20M', null, '', '20 minutes', 'PT1.5M', '00:20:00', 20],
  max_token_ttl: ['PT4M', null, 'P1Y', 'x'],
  max_delegation_depth: [1, 5, 0, 6, 1.5, '1', null],
  jwks_uri: ['https://keys.example/a', 'HTTPS://keys.example/a', 'http://keys.example/a', 'keys', 'https://a b', 1],
  may_act_names: [
    ...[[{ sub: 'a' }], [{ client_id: 'é' }], [{ sub: 'a', client_id: 'b' }, { sub: 'a' }], null, [], [{}], {}, 'a'],
    ...[[{ sub: '' }], [{ sub: null }], [{ sub: 'a', iss: 'b' }], [{ sub: ['a'] }], [{ sub: long }], [{ sub: 'a\n' }]],
    ...[[{ client_id: 1 }], [{ sub: 'a' }, { sub: 'a' }], [{ sub: 'Agent:a' }], [{ client_id: 'agent:a' }], ['a']],
    Array.from({ length: 17 }, (_, nth) => ({ sub: `a${nth}` })),
    Array.from({ length: 16 }, (_, nth) => ({ sub: `a${nth}` })),
  ],
  redirect_uris: [
    ...[
      ['https://a.example'],
      ['https://a.example/b?c=d', 'cursor://a/b'],
      ['https://a.example/#'],
      ['HTTPS://a.example'],
    ],
    ...[
      ['http://127.0.0.1'],
      ['http://[::1]:65535/a'],
      ['http://localhost?a'],
      ['http://a.example/'],
      null,
      [],
      'a',
      [1],
    ],
    ...[['http://localhost.evil/'], ['http://localhost:0/'], ['com.example:/a'], ['Cursor://a'], ['cursor:a'], ['']],
    ['https://a.example', 'https://a.example'],
    Array.from({ length: 17 }, (_, nth) => `https://a.example/${nth}`),
  ],
  public_client: [true, false, 'true', null],
  client_id_document: [
    'https://a.example/b',
    'http://a.example/b',
    'https://a.example/#',
    'HTTPS://a.example/b',
    null,
    1,
  ],
  client_names: [
    ...[['a'], ['é*', 'a b'], ['**'], ['*'], [''], ['a\n'], ['a', 'a'], [long], [`${long.slice(1)}*`], null, [], 'a'],
    Array.from({ length: 17 }, (_, nth) => `a${nth}`),
  ],
  delegates_to: [
    ...[['registered'], ['registered', 'another.one'], [], null, 'registered', [1], [''], ['A'], ['-a'], ['a b']],
    ...[['registered', 'registered'], ['x'.repeat(129)], Array.from({ length: 101 }, (_, nth) => `a${nth}`)],
  ],
  enabled: [true, 'true', null],
  // The object is closed.
  unknown_member: [1],
};

const QUERIES: readonly (readonly [id: string, name: string, values: readonly string[]])[] = [
  ['listAgents', 'limit', ['1', '1000', '0', '1001', 'x', '1.5']],
  ['listAgents', 'after', ['jira-triage', 'a.b_c', '', 'A', '-a', 'a b', 'a'.repeat(129)]],
  ['readLedger', 'agent_id', ['jira-triage', '', 'A', '.', 'a'.repeat(129)]],
  ['readLedger', 'task_id', [A_TASK, '', 'task_1', A_TASK.toLowerCase().replace(/0/g, 'u'), `${A_TASK}0`]],
  ['readLedger', 'sponsor', ['ada', 'ada lovelace', '', long]],
  ['readLedger', 'decision', ['allow', 'deny', 'ALLOW', '']],
  ['readLedger', 'limit', ['1', '1000', '0', '1001', 'x']],
  ['listCheckpoints', 'after', ['0', '7', '-1', 'x', '1.5']],
];

describe('The schemas of requests', function () {
  this.timeout(60_000);
  let mandate: Mandate;
  let agent: RegisteredAgent;
  const [database] = databases;
  before(async () => {
    if (database === undefined) throw new Error('there is no database');
    mandate = await (await sharedMandate(database)).another({
      'Service:UpstreamIdp:MayAct': 'honour',
      'Service:Me:ClientId': 'page',
      'Service:Authorize:ClientId': 'authorize',
      'Service:Delegation:Enabled': 'true',
    });
    for (const agent_id of ['registered', 'another.one']) await mandate.agent({ agent_id });
    agent = await mandate.agent();
  });
  after(() => mandate.stop());

  for (const [name, values] of Object.entries(MEMBERS)) {
    it(`accept exactly the values of ${name} that the service accepts`, async () => {
      for (const value of values) {
        const { status, text } = await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { [name]: value });
        expect(status, text).to.be.oneOf([200, 400]);
        const problem = problemsOf('/components/schemas/RegistrationChanges', { [name]: value });
        expect(problem === undefined, `${JSON.stringify(value)}: ${status} ${problem}`).to.equal(status === 200);
      }
    });

    it(`are the same for ${name} in a registration and in a change`, () => {
      const of = (schema: string) => {
        const { properties } = nodeAt<{ properties: Record<string, Record<string, unknown>> }>(
          below('/components/schemas', schema),
        ).value;
        const { description: _, ...limits } = properties[name] ?? {};
        return limits;
      };
      if (name !== 'enabled') expect(of('Registration')).to.deep.equal(of('RegistrationChanges'));
    });
  }

  for (const [id, name, values] of QUERIES) {
    it(`accept exactly the values of ${name} that ${id} accepts`, async () => {
      const operation = operationOf(id);
      const parameter = operation.parameters.find(({ value }) => value.name === name);
      if (parameter === undefined) throw new Error(`${id} has no parameter ${name}`);
      const isNumber = nodeAt<{ type?: string }>(below(parameter.pointer, 'schema')).value.type === 'integer';
      for (const text of values) {
        const { status } = await mandate.admin('GET', `${operation.path}?${new URLSearchParams({ [name]: text })}`);
        expect(status).to.be.oneOf([200, 400]);
        const value = isNumber && text !== '' ? Number(text) : text;
        const problem = problemsOf(below(parameter.pointer, 'schema'), value);
        expect(problem === undefined, `${text}: ${status} ${problem}`).to.equal(status === 200);
      }
    });
  }
});
