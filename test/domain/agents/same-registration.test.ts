import { expect } from 'chai';
import type { Registration } from '../../../domain/agents/agent.ts';
import { isSameRegistration } from '../../../domain/agents/registration.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';
import { P256_KEY } from '../../support/registrations.ts';

const {
  revision: _,
  createdAt: __,
  updatedAt: ___,
  keysSince: ____,
  ...registration
} = anAgent({
  keys: { kind: 'inline', jwks: { keys: [P256_KEY] } },
});

describe('two registrations', () => {
  it('are equal if every field is equal, in any order of a key’s members', () => {
    const { alg, ...rest } = P256_KEY;
    const reordered = { ...registration, keys: { kind: 'inline' as const, jwks: { keys: [{ alg, ...rest }] } } };
    const stored: Registration = anAgent({ keys: registration.keys });
    expect(isSameRegistration(reordered, stored)).to.equal(true);
  });

  const changes: readonly Partial<typeof registration>[] = [
    { agentId: agentIdOf('other') },
    { displayName: 'Other' },
    { allowedScopes: ['jira:comment', 'jira:read'] },
    { allowedAudiences: ['https://jira.example'] },
    { maxTaskTtl: 1801 },
    { maxTokenTtl: 301 },
    { maxDelegationDepth: 4 },
    { highRiskAudiences: [] },
    { keys: { kind: 'remote', uri: 'https://keys.example' } },
    { keys: { kind: 'inline', jwks: { keys: [{ ...P256_KEY, kid: 'other' }] } } },
    { keys: { kind: 'inline', jwks: { keys: [P256_KEY, { ...P256_KEY, kid: 'second' }] } } },
    { mayActNames: undefined },
    { mayActNames: [{ sub: '7f3c', clientId: undefined }] },
    { redirectUris: undefined },
    { redirectUris: ['https://triage.example/other'] },
    { publicClient: false },
    { clientIdDocument: undefined },
    { clientIdDocument: 'https://triage.example/other.json' },
    { clientNames: ['Other'] },
    { delegatesTo: undefined },
    { delegatesTo: [agentIdOf('wiki-reader'), agentIdOf('jira-triage')] },
    { keys: { kind: 'none' } },
    { enabled: false },
  ];
  for (const change of changes) {
    it(`differ if this field differs: ${JSON.stringify(change).slice(0, 60)}`, () => {
      expect(isSameRegistration({ ...registration, ...change }, registration)).to.equal(false);
    });
  }
});
