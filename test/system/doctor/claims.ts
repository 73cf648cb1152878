/** What `mandate doctor --subject-token` says about the claims of a token. */

import { expect } from 'chai';
import type { Agent } from '../../../domain/agents/agent.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import { agentIdOf, anAgent, NOON } from '../../support/domain-fixtures.ts';
import { answering, startLoopback } from '../../support/loopback.ts';
import type { Explained } from './explained.ts';

const NO_DATABASE = {
  'Service:Database:Provider': 'sqlite',
  'Service:Database:Path': '/nowhere/mandate.db',
  'Service:Database:ConnectionString': '',
};

/** The same token, with a claim that was changed after signing. */
function tampered(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  const other = Buffer.from(JSON.stringify({ ...claims, client_id: 'other' })).toString('base64url');
  return [header, other, signature].join('.');
}

export function testClaims(explained: Explained): void {
  const { mint, explain, failedOf, sentenceOf } = explained;

  it('compares iss with the issuer of access tokens, if the metadata names another than of ID tokens', async () => {
    const { provider } = explained;
    const trust = 'http://adfs.example/adfs/services/trust';
    const document = { issuer: 'https://adfs.example/adfs', access_token_issuer: trust };
    const adfs = await startLoopback(answering({ ...document, jwks_uri: `${provider.issuer}/jwks` }));
    const changes = { 'Service:UpstreamIdp:Issuer': '', 'Service:UpstreamIdp:MetadataUrl': `${adfs.url}/document` };
    expect(failedOf(await explain(mint({ iss: trust, scope: 'jira:read' }), { changes }))).to.deep.equal([]);
    const wrong = await explain(mint({ iss: document.issuer }), { changes });
    expect(failedOf(wrong)).to.deep.equal(['token iss', 'verdict']);
    expect(sentenceOf(wrong, 'token iss')).to.equal(
      `iss is "${document.issuer}"; that of the identity provider's access tokens is "${trust}".`,
    );
    await adfs.close();
  });

  it('warns of a token that is bound to a key, and with RefuseBoundTokens reports the denial reason', async () => {
    const bound = mint({ cnf: { jkt: 'thumbprint' }, scope: 'jira:read' });
    const warned = await explain(bound);
    expect(warned.filter(({ status }) => status !== 'ok').map(({ check }) => check)).to.deep.equal(['token cnf']);
    const changes = { 'Service:UpstreamIdp:RefuseBoundTokens': 'true' };
    const refused = await explain(bound, { changes });
    expect(failedOf(refused)).to.deep.equal(['token cnf', 'verdict']);
    expect(sentenceOf(refused, 'verdict')).to.include('reason subject_bound_to_key:');
    expect(failedOf(await explain(mint({ cnf: null, scope: 'jira:read' }), { changes }))).to.deep.equal([]);
  });

  it('says for which agents the token is if the service heeds may_act', async () => {
    const storage = await explained.database.open();
    const { agents } = storage;
    const entry = { at: NOON, event: 'agent.registered', decision: 'allow' } as const;
    const register = (agentId: AgentId, changes: Partial<Agent>) =>
      agents.register(anAgent({ agentId, mayActNames: undefined, ...changes }), entry, entry);
    await register(agentIdOf('first'), { mayActNames: [{ sub: 'service-user', clientId: undefined }] });
    await register(agentIdOf('second'), {
      mayActNames: [{ sub: 'service-user', clientId: 'kc' }],
      enabled: false,
    });
    await storage.close();
    const may_act = { sub: 'service-user', client_id: 'kc' };
    const cases = [
      ['honour', undefined, 'ok', 'There is no may_act: the token is for every registered agent.'],
      ['require', undefined, 'failed', /requires it: the token is for no agent\./],
      [
        'honour',
        may_act,
        'ok',
        /has sub "service-user", client_id "kc"\. The token is for first, second \(disabled\)\.$/,
      ],
      ['require', { sub: 'agent:second' }, 'ok', /The token is for second \(disabled\)\.$/],
      ['honour', { ...may_act, iss: explained.provider.issuer }, 'ok', /The token is for first, /],
      [
        'honour',
        { ...may_act, iss: 'https://other\u202e.example' },
        'failed',
        /iss "https:\/\/other\?\.example"\. .* no registered agent/,
      ],
      [
        'honour',
        { client_id: 'kc', iss: 1 },
        'failed',
        /iss that is no text\. The token is for no registered agent\.$/,
      ],
      // A provider that names the person in place of an actor: `explain` refuses a finding that names the person.
      ['honour', { sub: 'ada-the-person' }, 'failed', /^may_act has sub of the person\. The token is for no /],
      [
        'honour',
        { sub: 'object-of-ada', client_id: 'kc' },
        'failed',
        /^may_act has sub of the person, client_id "kc"\. /,
      ],
      [
        'honour',
        { may_act },
        'failed',
        /^may_act is malformed: .* a sub, a client_id or both, each a text of 1 to 256/,
      ],
    ] as const;
    for (const [mode, claim, status, sentence] of cases) {
      const changes = { 'Service:UpstreamIdp:MayAct': mode };
      const findings = await explain(mint({ scope: 'jira:read', may_act: claim }), { changes });
      const found = findings.find(({ check }) => check === 'token may_act');
      expect(found?.status).to.equal(status);
      expect(found?.sentence).to.match(new RegExp(sentence));
      const reason = claim !== undefined && 'may_act' in claim ? 'subject_malformed' : 'actor_not_named';
      if (status === 'failed') expect(sentenceOf(findings, 'verdict')).to.include(`reason ${reason}:`);
      else expect(failedOf(findings)).to.deep.equal([]);
    }
    const ignored = await explain(mint({ scope: 'jira:read', may_act: 'x' }));
    expect(sentenceOf(ignored, 'token may_act')).to.equal(undefined);
    const nowhere = { 'Service:UpstreamIdp:MayAct': 'honour', ...NO_DATABASE };
    const unread = await explain(mint({ scope: 'jira:read', may_act }), { changes: nowhere });
    expect(unread.find(({ check }) => check === 'token may_act')?.status).to.equal('skipped');
    expect(failedOf(unread)).to.deep.equal([]);
  });

  it('says what a logout does to the tasks of a token without sid', async () => {
    const logout = 'Service:UpstreamIdp:BackchannelLogout';
    const on = { [`${logout}:Audience`]: 'portal' };
    for (const [sid, changes, status, sentence] of [
      [undefined, {}, 'ok', /Back-channel logout is off, so no logout ends tasks\.$/],
      [undefined, on, 'warning', /names the person and a session does not end its tasks\./],
      [null, on, 'warning', /names the person and a session does not end its tasks\./],
      [undefined, { ...on, [`${logout}:EndTasksWithoutSession`]: 'true' }, 'ok', /^There is no sid: each logout /],
      ['session-of-ada', on, 'ok', /^sid names a session\.$/],
    ] as const) {
      const findings = await explain(mint({ sid, scope: 'jira:read' }), { changes });
      const found = findings.find(({ check }) => check === 'token sid');
      expect(found?.status).to.equal(status);
      expect(found?.sentence).to.match(sentence);
      expect(findings.at(-1)).to.include({ check: 'verdict', status: 'ok' });
    }
  });

  const single: readonly (readonly [string, () => string, string, string])[] = [
    ['is an ID token by its claims', () => mint({ at_hash: 'hash' }), 'token form', 'subject_malformed'],
    ['was changed after it was signed', () => tampered(mint()), 'token signature', 'subject_invalid_signature'],
    ['has an unusable sponsor key', () => mint({ oid: 'a b' }), 'token sponsor key', 'sponsor_key_missing'],
  ];

  for (const [title, token, check, reason] of single) {
    it(`reports ${reason} for a token that ${title}`, async () => {
      const findings = await explain(token());
      expect(failedOf(findings)).to.deep.equal([check, 'verdict']);
      expect(sentenceOf(findings, 'verdict')).to.include(`reason ${reason}:`);
    });
  }

  for (const [title, claims, sentence] of [
    ['of the client itself', { sub: 'svc-7', client_id: 'svc-7' }, 'Its sub is the client itself'],
    ['of an application', { idtyp: 'app' }, 'Its idtyp says app'],
  ] as const) {
    it(`says first that no person is behind a token ${title}`, async () => {
      const findings = await explain(mint(claims));
      expect(failedOf(findings)).to.deep.equal(['token person', 'token sub', 'verdict']);
      expect(findings[0]?.check).to.equal('token person');
      expect(findings[0]?.sentence).to.match(new RegExp(`^No person is behind it\\. ${sentence}:`));
      expect(JSON.stringify(findings)).not.to.include('svc-7');
      expect(sentenceOf(findings, 'verdict')).to.include('reason subject_not_a_person:');
    });
  }
}
