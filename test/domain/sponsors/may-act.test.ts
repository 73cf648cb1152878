import { expect } from 'chai';
import type { MayActName } from '../../../domain/agents/may-act-name.ts';
import { judgeMayAct } from '../../../domain/sponsors/may-act.ts';
import { type Json, type JsonObject, parseStrictJson } from '../../../domain/tokens/strict-json.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';

const PROVIDER = 'https://idp.example/realms/main';
const TOKENS = 'https://idp.example/trust';
const OURS = 'https://mandate.example';
const long = 'x'.repeat(256);

/** The id of the user that is the service account of Keycloak's client. */
const SERVICE_USER = '1c0a4e0e-6f5d-4a6e-9a43-2f5f1f7b9d10';

const names: readonly MayActName[] = [
  { sub: SERVICE_USER, clientId: 'jira-bot' },
  { sub: 'admin@example.com', clientId: undefined },
  { sub: undefined, clientId: 'jira-portal' },
  { sub: long, clientId: undefined },
];
const agent = { agentId: agentIdOf('jira-triage'), mayActNames: names };

const claimsWith = (may_act: Json | undefined) => ({
  json: may_act === undefined ? {} : ({ may_act } satisfies JsonObject),
  issuer: TOKENS,
});
const honoured = (may_act: Json | undefined, of: Parameters<typeof judgeMayAct>[2] = agent) =>
  judgeMayAct('honour', claimsWith(may_act), of, [OURS, PROVIDER]);

describe('may_act of a subject token', () => {
  const named: readonly [string, Json][] = [
    ["Keycloak's: the id of the service account's user, and its client", { sub: SERVICE_USER, client_id: 'jira-bot' }],
    ["RFC 8693's example", { sub: 'admin@example.com' }],
    ['ours', { sub: 'agent:jira-triage' }],
    ['the bare agent_id', { sub: 'jira-triage' }],
    ['our name of the agent beside another client_id', { sub: 'agent:jira-triage', client_id: 'another' }],
    ['the bare agent_id beside another client_id', { sub: 'jira-triage', client_id: 'another' }],
    ['the registered sub beside a client_id that the name does not have', { sub: 'admin@example.com', client_id: 'x' }],
    ['the registered client_id alone', { client_id: 'jira-portal' }],
    ['the registered client_id beside a sub that the name does not have', { sub: 'x', client_id: 'jira-portal' }],
    ['a sub of 256 characters', { sub: long }],
    ['null members', { sub: 'jira-triage', client_id: null, iss: null }],
    ['a null sub beside a client_id', { sub: null, client_id: 'jira-portal' }],
    ["the provider's issuer", { sub: 'jira-triage', iss: PROVIDER }],
    ['the issuer of the access token', { sub: 'jira-triage', iss: TOKENS }],
    ["this service's issuer", { sub: 'jira-triage', iss: OURS }],
    [
      'a thousand other members',
      {
        sub: 'jira-triage',
        ...Object.fromEntries(Array.from({ length: 1000 }, (_, nth) => [`m${nth}`, { sub: 'x' }])),
      },
    ],
  ];
  for (const [what, claim] of named) {
    it(`names the agent with ${what}`, () => {
      expect(honoured(claim)).to.equal(undefined);
    });
  }

  const others: readonly [string, Json][] = [
    ['another agent', { sub: 'agent:wiki-gardener' }],
    ['our name of another agent beside the registered client_id', { sub: 'agent:other', client_id: 'jira-portal' }],
    ['our name of no agent beside the registered client_id', { sub: 'agent:', client_id: 'jira-portal' }],
    ['our prefix in another case beside the registered client_id', { sub: 'AGENT:other', client_id: 'jira-portal' }],
    [
      'our name in another case beside the registered client_id',
      { sub: 'Agent:jira-triage', client_id: 'jira-portal' },
    ],
    [
      'more than our name of it beside the registered client_id',
      { sub: 'agent:jira-triage ', client_id: 'jira-portal' },
    ],
    ['the prefix in another case', { sub: 'Agent:jira-triage' }],
    ['the agent_id in another case', { sub: 'Jira-triage' }],
    ['more than the agent_id', { sub: 'jira-triage-2' }],
    ['the agent_id as client_id', { client_id: 'jira-triage' }],
    ['our name as client_id', { client_id: 'agent:jira-triage' }],
    ['the sub of a name with another client_id', { sub: SERVICE_USER, client_id: 'wiki-bot' }],
    ['the sub of a name without its client_id', { sub: SERVICE_USER }],
    ['the client_id of a name with another sub', { sub: 'x', client_id: 'jira-bot' }],
    ['the client_id of a name without its sub', { client_id: 'jira-bot' }],
    ['a sub in the place of a client_id', { client_id: 'admin@example.com' }],
    ['a client_id in the place of a sub', { sub: 'jira-portal' }],
    ['another issuer', { sub: 'agent:jira-triage', iss: 'https://other.example' }],
    ["the provider's issuer with a slash", { sub: 'jira-triage', iss: `${PROVIDER}/` }],
    ['an issuer that is no text', { sub: 'jira-triage', iss: [PROVIDER] }],
    ['an empty issuer', { sub: 'jira-triage', iss: '' }],
  ];
  for (const [what, claim] of others) {
    it(`does not name the agent with ${what}`, () => {
      expect(honoured(claim)).to.equal('actor_not_named');
    });
  }

  it('names an agent without registered names only by its id', () => {
    const unnamed = { ...agent, mayActNames: undefined };
    expect(honoured({ sub: 'agent:jira-triage' }, unnamed)).to.equal(undefined);
    expect(honoured({ client_id: 'jira-portal' }, unnamed)).to.equal('actor_not_named');
  });

  const malformed: readonly [string, Json][] = [
    ['a text', 'agent:jira-triage'],
    ['a list', [{ sub: 'jira-triage' }]],
    ['a number', 1],
    ['false', false],
    ['no member', {}],
    ['null members alone', { sub: null, client_id: null }],
    ['a nested may_act', { may_act: { sub: 'jira-triage' } }],
    ['a list as sub', { sub: ['jira-triage'] }],
    ['an object as sub', { sub: { sub: 'jira-triage' }, client_id: 'jira-portal' }],
    ['an empty sub', { sub: '' }],
    ['a sub of 257 characters', { sub: `${long}x` }],
    ['an empty client_id beside a sub', { sub: 'jira-triage', client_id: '' }],
    ['a client_id of 257 characters beside a sub', { sub: 'jira-triage', client_id: `${long}x` }],
    ['a number as client_id beside a sub', { sub: 'jira-triage', client_id: 7 }],
    ['an issuer alone', { iss: PROVIDER }],
    ['a prototype', parseStrictJson('{"__proto__":{"sub":"jira-triage"}}') ?? null],
  ];
  for (const [what, claim] of malformed) {
    it(`is malformed with ${what}, unless the service ignores it`, () => {
      expect(honoured(claim)).to.equal('subject_malformed');
      expect(judgeMayAct('require', claimsWith(claim), agent, [OURS])).to.equal('subject_malformed');
      expect(judgeMayAct('ignore', claimsWith(claim), agent, [OURS])).to.equal(undefined);
    });
  }

  it('may be absent or null with honour, and not with require', () => {
    const inherited = Object.create({ may_act: { sub: 'jira-triage' } }) as JsonObject;
    for (const claims of [claimsWith(undefined), claimsWith(null), { json: inherited, issuer: TOKENS }]) {
      const judged = (['ignore', 'honour', 'require'] as const).map((mode) => judgeMayAct(mode, claims, agent, [OURS]));
      expect(judged).to.deep.equal([undefined, undefined, 'actor_not_named']);
    }
  });
});
