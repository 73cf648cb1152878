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
    ['neither jwks_uri nor jwks', { jwks: undefined }],
    ['both', { jwksUri: 'https://keys.example/jwks.json' }],
  ] as const) {
    it(`is refused with ${what}, which is reported for both fields`, () => {
      expect(errorsOf(changes)).to.deep.equal({
        jwks_uri: ['Exactly one of jwks_uri and jwks must be set.'],
        jwks: ['Exactly one of jwks_uri and jwks must be set.'],
      });
    });
  }

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
          jwks: { keys: [{ kty: text, kid: text, use: text, alg: text, [text]: text }] },
        });
        expect(Object.keys(errors)).to.have.lengthOf(6);
        expect(JSON.stringify(errors)).not.to.include('53cr3t');
      }),
    );
  });
});
