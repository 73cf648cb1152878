import { expect } from 'chai';
import fc from 'fast-check';
import type { MayActName } from '../../../domain/agents/may-act-name.ts';
import { judgeRegistration } from '../../../domain/agents/registration.ts';
import type { RegistrationDraft } from '../../../domain/agents/registration-draft.ts';
import { aDraft, P256_KEY, RULES } from '../../support/registrations.ts';

function errorsOf(changes: Partial<RegistrationDraft>): Record<string, string[]> {
  const verdict = judgeRegistration(aDraft(changes), RULES);
  const errors: Record<string, string[]> = {};
  for (const { field, sentence } of verdict.kind === 'invalid' ? verdict.errors : []) {
    errors[field] = [...(errors[field] ?? []), sentence];
  }
  return errors;
}

const long = 'x'.repeat(256);
const aName = (name: Partial<MayActName>): MayActName => ({ sub: undefined, clientId: undefined, ...name });
const OWN = aName({ sub: 'jira-triage' });
const severalUris = (number: number) => Array.from({ length: number }, (_, nth) => `https://app.example/${nth}`);
const severalAgents = (number: number) => Array.from({ length: number }, (_, nth) => `agent-${nth}`);
const severalNames = (number: number) => Array.from({ length: number }, (_, nth) => aName({ sub: `${nth}` }));

describe('a registration as a whole', () => {
  it('keeps every field as it was sent', () => {
    expect(judgeRegistration(aDraft({ enabled: false }), RULES)).to.deep.equal({
      kind: 'valid',
      registration: {
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
        mayActNames: [{ sub: '7f3c', clientId: 'jira-client' }],
        redirectUris: ['https://triage.example/callback', 'http://127.0.0.1/callback', 'cursor://triage/callback'],
        publicClient: true,
        clientIdDocument: 'https://triage.example/client.json',
        clientNames: ['Triage', 'Triage (*'],
        delegatesTo: ['jira-triage', 'wiki-reader'],
        enabled: false,
      },
    });
  });

  const acceptable: readonly [string, Partial<RegistrationDraft>][] = [
    ['an agent_id of one digit', { agentId: '7' }],
    ['an agent_id of 128 characters with every kind', { agentId: `a-_.9${'x'.repeat(123)}` }],
    ['a display name in any script', { displayName: 'Грета 🜁 بحث' }],
    ['a display name of 256 characters', { displayName: 'x'.repeat(256) }],
    ['a depth of 1', { maxDelegationDepth: 1 }],
    ['a depth of 5', { maxDelegationDepth: 5 }],
    ['no high-risk audience', { highRiskAudiences: [] }],
    ['no name at the provider', { mayActNames: undefined }],
    ['names of 256 characters with one member each', { mayActNames: [{ sub: long }, { clientId: long }].map(aName) }],
    ['names that differ in one member', { mayActNames: [{ sub: 'a' }, { sub: 'a', clientId: 'b' }].map(aName) }],
    ['a client_id like an agent, and its own id as a name', { mayActNames: [aName({ clientId: 'agent:a' }), OWN] }],
    ['16 names', { mayActNames: severalNames(16) }],
    ['no redirect URI', { redirectUris: undefined }],
    ['16 redirect URIs', { redirectUris: severalUris(16) }],
    ['no key, if PKCE authenticates it', { jwks: undefined, publicClient: true, clientIdDocument: undefined }],
    ['no key, if it has a document', { jwks: undefined, publicClient: false }],
    ['a document at a port, with a query', { clientIdDocument: 'https://triage.example:8443/a/b?c=1' }],
    ['a document of 2048 characters', { clientIdDocument: `https://triage.example/${'x'.repeat(2025)}` }],
    ['no document', { clientIdDocument: undefined }],
    ['no name of a program', { clientNames: undefined }],
    ['16 names of programs', { clientNames: Array.from({ length: 16 }, (_, nth) => `Client ${nth} *`) }],
    ['an agent that hands work to itself only', { delegatesTo: ['jira-triage'] }],
    ['100 agents that it hands work to', { delegatesTo: severalAgents(100) }],
    ['names of programs of 256 characters, and one before a *', { clientNames: [long, `${long}*`, 'é*', '**'] }],
    ['a scope of every character that a scope may have', { allowedScopes: ["!#$%&'()*+,-./:;<=>?@[]^_`{|}~aZ0"] }],
    ['1000 scopes', { allowedScopes: Array.from({ length: 1000 }, (_, index) => `s${index}`) }],
  ];
  for (const [what, changes] of acceptable) {
    it(`may have ${what}`, () => {
      expect(errorsOf(changes)).to.deep.equal({});
    });
  }

  const refused: readonly [string, Partial<RegistrationDraft>, string, RegExp][] = [
    ['an empty agent_id', { agentId: '' }, 'agent_id', /1 to 128/],
    ['an agent_id of 129 characters', { agentId: 'x'.repeat(129) }, 'agent_id', /1 to 128/],
    ['an agent_id with a capital', { agentId: 'Jira' }, 'agent_id', /lowercase/],
    ['an agent_id that starts with a dot', { agentId: '.jira' }, 'agent_id', /start with/],
    ['an agent_id with a line feed at its end', { agentId: 'jira\n' }, 'agent_id', /lowercase/],
    ['an empty list of names', { mayActNames: [] }, 'may_act_names', /^Must have 1 to 16 items\.$/],
    ['17 names', { mayActNames: severalNames(17) }, 'may_act_names', /^Must have 1 to 16 items\.$/],
    ['a name without members', { mayActNames: [OWN, aName({})] }, 'may_act_names', /^Item 2 must have sub, client_id/],
    ['an empty sub', { mayActNames: [aName({ sub: '', clientId: 'a' })] }, 'may_act_names', /^Item 1 must be 1 to 256/],
    ['a client_id of 257', { mayActNames: [aName({ clientId: `${long}x` })] }, 'may_act_names', /1 to 256/],
    ['a name with a control character', { mayActNames: [aName({ sub: 'a\u0000' })] }, 'may_act_names', /1 to 256/],
    ['a name with a lone surrogate', { mayActNames: [aName({ sub: '\ud800' })] }, 'may_act_names', /1 to 256/],
    ['the name of an agent', { mayActNames: [aName({ sub: 'AGENT:x' })] }, 'may_act_names', /begins with agent:/],
    ['the same name twice', { mayActNames: [OWN, { ...OWN }] }, 'may_act_names', /anything twice/],
    ['an empty list of redirect URIs', { redirectUris: [] }, 'redirect_uris', /^Must have 1 to 16 items\.$/],
    ['17 redirect URIs', { redirectUris: severalUris(17) }, 'redirect_uris', /^Must have 1 to 16 items\.$/],
    ['a redirect URI twice', { redirectUris: ['cursor://a', 'cursor://a'] }, 'redirect_uris', /anything twice/],
    [
      'a script as redirect URI',
      { redirectUris: ['cursor://a', 'javascript:alert(1)'] },
      'redirect_uris',
      /^Item 2 must/,
    ],
    [
      'a redirect URI with http',
      { redirectUris: ['http://triage.example/'] },
      'redirect_uris',
      /^Item 1 must be https, or/,
    ],
    ['a document with http', { clientIdDocument: 'http://triage.example/c' }, 'client_id_document', /absolute https/],
    ['a document without a path', { clientIdDocument: 'https://triage.example' }, 'client_id_document', /with a path/],
    ['a document at the root', { clientIdDocument: 'https://triage.example/' }, 'client_id_document', /with a path/],
    ['a document with a fragment', { clientIdDocument: 'https://triage.example/c#' }, 'client_id_document', /fragment/],
    ['a document with a user', { clientIdDocument: 'https://u@triage.example/c' }, 'client_id_document', /userinfo/],
    ['a dot segment', { clientIdDocument: 'https://triage.example/a/../c' }, 'client_id_document', /dot segments/],
    ['an encoded dot segment', { clientIdDocument: 'https://triage.example/a/%2e%2e/c' }, 'client_id_document', /dot/],
    ['a capital in its host', { clientIdDocument: 'https://Triage.example/c' }, 'client_id_document', /lowercase/],
    ['the default port', { clientIdDocument: 'https://triage.example:443/c' }, 'client_id_document', /default port/],
    ['a document on our host', { clientIdDocument: 'https://mandate.test/c' }, 'client_id_document', /of its own/],
    ['a document that is an agent_id', { clientIdDocument: 'jira-triage' }, 'client_id_document', /absolute https/],
    [
      'a document of 2049 characters',
      { clientIdDocument: `https://triage.example/${'x'.repeat(2026)}` },
      'client_id_document',
      /2048/,
    ],
    ['an empty list of names of programs', { clientNames: [] }, 'client_names', /^Must have 1 to 16 items\.$/],
    ['17 names', { clientNames: Array.from({ length: 17 }, (_, nth) => `${nth}`) }, 'client_names', /1 to 16 items/],
    ['an empty name of a program', { clientNames: ['a', ''] }, 'client_names', /^Item 2 must be 1 to 256/],
    ['a name that fits every program', { clientNames: ['*'] }, 'client_names', /before a \*/],
    ['a blank name before a *', { clientNames: [' *'] }, 'client_names', /not all blank/],
    ['a name of a program with a line feed', { clientNames: ['a\n'] }, 'client_names', /control/],
    ['a name of a program of 257 characters', { clientNames: [`${long}x*`] }, 'client_names', /256/],
    [
      '101 agents to hand work to',
      { delegatesTo: severalAgents(101) },
      'delegates_to',
      /^Must have at most 100 items\.$/,
    ],
    ['no agent_id among them', { delegatesTo: ['a', 'A'] }, 'delegates_to', /^Item 2 must be an agent_id\.$/],
    ['an agent to hand work to twice', { delegatesTo: ['a', 'a'] }, 'delegates_to', /anything twice/],
    ['a name of a program twice', { clientNames: ['a', 'a'] }, 'client_names', /anything twice/],
    ['an empty display name', { displayName: '' }, 'display_name', /1 to 256/],
    ['a blank display name', { displayName: ' \u00a0 ' }, 'display_name', /blank/],
    ['a display name of 257 characters', { displayName: 'x'.repeat(257) }, 'display_name', /256/],
    ['a display name with a control character', { displayName: 'a\u0000b' }, 'display_name', /control/],
    ['a display name with a line separator', { displayName: 'a\u2028b' }, 'display_name', /control/],
    ['a display name with a lone surrogate', { displayName: 'a\ud800' }, 'display_name', /control/],
    ['no sponsor', { sponsorRequired: false }, 'sponsor_required', /must be true/i],
    ['no scope', { allowedScopes: [] }, 'allowed_scopes', /at least one/],
    ['a scope twice', { allowedScopes: ['a', 'b', 'a'] }, 'allowed_scopes', /twice/],
    ['an empty scope', { allowedScopes: ['a', ''] }, 'allowed_scopes', /Item 2/],
    ['a scope with a space', { allowedScopes: ['a b'] }, 'allowed_scopes', /Item 1/],
    ['a scope with a double quote', { allowedScopes: ['a"b'] }, 'allowed_scopes', /Item 1/],
    ['a scope with a backslash', { allowedScopes: ['a\\b'] }, 'allowed_scopes', /Item 1/],
    ['a scope with a control character', { allowedScopes: ['a\u007f'] }, 'allowed_scopes', /Item 1/],
    ['a scope beyond ASCII', { allowedScopes: ['é'] }, 'allowed_scopes', /Item 1/],
    ['a scope of 257 characters', { allowedScopes: ['x'.repeat(257)] }, 'allowed_scopes', /256/],
    [
      '1001 scopes',
      { allowedScopes: Array.from({ length: 1001 }, (_, index) => `s${index}`) },
      'allowed_scopes',
      /at most 1000/,
    ],
    ['no audience', { allowedAudiences: [] }, 'allowed_audiences', /at least one/],
    [
      '1001 audiences',
      { allowedAudiences: Array.from({ length: 1001 }, (_, index) => `https://a${index}.example`) },
      'allowed_audiences',
      /at most 1000/,
    ],
    [
      '1001 high-risk audiences',
      { highRiskAudiences: Array.from({ length: 1001 }, (_, index) => `https://a${index}.example`) },
      'high_risk_audiences',
      /at most 1000/,
    ],
    [
      'an audience twice',
      { allowedAudiences: ['https://a.example', 'https://a.example'] },
      'allowed_audiences',
      /twice/,
    ],
    [
      'an audience that is not a URL',
      { allowedAudiences: ['https://a.example', 'jira'] },
      'allowed_audiences',
      /Item 2/,
    ],
    ['a high-risk audience that is not a URL', { highRiskAudiences: ['jira'] }, 'high_risk_audiences', /Item 1/],
    [
      'a high-risk audience twice',
      { highRiskAudiences: ['https://a.example', 'https://a.example'] },
      'high_risk_audiences',
      /twice/,
    ],
    ['a depth of 0', { maxDelegationDepth: 0 }, 'max_delegation_depth', /1 to 5/],
    ['a depth of 6', { maxDelegationDepth: 6 }, 'max_delegation_depth', /1 to 5/],
    ['a fractional depth', { maxDelegationDepth: 1.5 }, 'max_delegation_depth', /1 to 5/],
    ['a task lifetime out of bounds', { maxTaskTtl: 86_401 }, 'max_task_ttl', /^Must be from PT1M to P1D\.$/],
    ['a token lifetime out of bounds', { maxTokenTtl: 29 }, 'max_token_ttl', /^Must be from PT30S to PT1H\.$/],
    [
      'a token that outlives its task',
      { maxTaskTtl: 60, maxTokenTtl: 61 },
      'max_token_ttl',
      /longer than max_task_ttl/,
    ],
    ['a jwks_uri on our host', { jwksUri: 'https://mandate.test/k', jwks: undefined }, 'jwks_uri', /of its own/],
    ['a jwks_uri over http', { jwksUri: 'http://keys.example', jwks: undefined }, 'jwks_uri', /absolute https/],
    ['an empty key set', { jwks: { keys: [] } }, 'jwks', /at least one/],
    ['a key set without keys', { jwks: {} }, 'jwks', /keys/],
    ['a private key', { jwks: { keys: [{ ...P256_KEY, d: 'x' }] } }, 'jwks', /private/],
  ];
  for (const [what, changes, field, sentence] of refused) {
    it(`is refused with ${what}`, () => {
      const errors = errorsOf(changes);
      expect(Object.keys(errors)).to.deep.equal([field]);
      expect(errors[field]?.join(' ')).to.match(sentence);
    });
  }

  for (const [what, changes] of [
    ['neither jwks_uri nor jwks', { jwks: undefined, publicClient: false, clientIdDocument: undefined }],
    ['both', { jwksUri: 'https://keys.example/jwks.json' }],
  ] as const) {
    it(`is refused with ${what}, which is reported for both fields`, () => {
      expect(errorsOf(changes)).to.deep.equal({
        jwks_uri: ['Exactly one of jwks_uri and jwks must be set.'],
        jwks: ['Exactly one of jwks_uri and jwks must be set.'],
      });
    });
  }

  it('hands work to no agent if it names none', () => {
    for (const delegatesTo of [undefined, []]) {
      const verdict = judgeRegistration(aDraft({ delegatesTo }), RULES);
      expect(verdict.kind === 'valid' && verdict.registration.delegatesTo).to.equal(undefined);
    }
  });

  it('reports every problem at once', () => {
    const changes = {
      agentId: 'A',
      displayName: '',
      sponsorRequired: false,
      allowedScopes: [],
      allowedAudiences: ['x'],
      maxTaskTtl: 1,
      maxTokenTtl: 1,
      maxDelegationDepth: 9,
      highRiskAudiences: ['y'],
      jwks: { keys: [] },
    };
    expect(Object.keys(errorsOf(changes))).to.have.members([
      'agent_id',
      'display_name',
      'sponsor_required',
      'allowed_scopes',
      'allowed_audiences',
      'max_task_ttl',
      'max_token_ttl',
      'max_delegation_depth',
      'high_risk_audiences',
      'jwks',
    ]);
  });

  it('reports at most ten items of one list', () => {
    const errors = errorsOf({ allowedAudiences: Array.from({ length: 500 }, (_, index) => `bad ${index}`) });
    expect(errors.allowed_audiences).to.have.lengthOf(10);
  });

  it('never repeats a value in its error messages', () => {
    const secret = fc.string({ minLength: 8, maxLength: 40 }).map((text) => `${text}-53cr3t\n`);
    fc.assert(
      fc.property(secret, (text) => {
        const errors = errorsOf({
          agentId: text,
          displayName: text,
          allowedScopes: [text],
          allowedAudiences: [text],
          highRiskAudiences: [text],
          redirectUris: [text],
          clientIdDocument: text,
          clientNames: [text],
          delegatesTo: [text],
          jwks: { keys: [{ kty: text, kid: text, use: text, alg: text, [text]: text }] },
        });
        expect(Object.keys(errors)).to.have.lengthOf(10);
        expect(JSON.stringify(errors)).not.to.include('53cr3t');
      }),
    );
  });
});
