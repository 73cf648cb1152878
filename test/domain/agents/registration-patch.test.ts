import { expect } from 'chai';
import { CLEARED, carriedFields, mergePatch, onlyDisables } from '../../../domain/agents/registration-patch.ts';
import { anAgent } from '../../support/domain-fixtures.ts';
import { P256_KEY } from '../../support/registrations.ts';

const remote = anAgent({ keys: { kind: 'remote', uri: 'https://keys.example/jwks.json' } });
const inline = anAgent({ keys: { kind: 'inline', jwks: { keys: [P256_KEY] } } });
const keyless = anAgent({ keys: { kind: 'none' } });
const otherJwks = { keys: [{ ...P256_KEY, kid: 'other' }] };

describe('a patch of a registration', () => {
  it('keeps every stored field that it does not name', () => {
    const { revision: _, createdAt: __, updatedAt: ___, keysSince: ____, keys: _____, ...fields } = inline;
    expect(mergePatch(inline, {})).to.deep.equal({ ...fields, jwksUri: undefined, jwks: { keys: [P256_KEY] } });
  });

  it('replaces every stored field that it names', () => {
    const patch = {
      agentId: 'jira-triage',
      displayName: 'New',
      sponsorRequired: false,
      allowedScopes: ['new'],
      allowedAudiences: ['https://new.example'],
      maxTaskTtl: 61,
      maxTokenTtl: 31,
      maxDelegationDepth: 2,
      highRiskAudiences: [],
      jwksUri: 'https://new.example/keys',
      mayActNames: [{ sub: 'new', clientId: undefined }],
      redirectUris: ['https://new.example/callback'],
      publicClient: false,
      clientIdDocument: 'https://new.example/client.json',
      clientNames: ['New'],
      delegatesTo: ['new'],
      enabled: false,
    };
    expect(mergePatch(remote, patch)).to.deep.equal({ ...patch, jwks: undefined });
  });

  it('removes the names at the provider with null', () => {
    expect(mergePatch(remote, { mayActNames: CLEARED }).mayActNames).to.equal(undefined);
  });

  it('takes away the agents that it may hand work to with null', () => {
    expect(mergePatch(remote, { delegatesTo: CLEARED }).delegatesTo).to.equal(undefined);
  });

  it('removes what it is as a client of /oauth2/authorize with null, but for whether it is public', () => {
    const draft = mergePatch(remote, { redirectUris: CLEARED, clientIdDocument: CLEARED, clientNames: CLEARED });
    const { redirectUris, publicClient, clientIdDocument, clientNames } = draft;
    expect([redirectUris, publicClient, clientIdDocument, clientNames]).to.deep.equal([
      undefined,
      true,
      undefined,
      undefined,
    ]);
  });

  it('resets a lifetime of null to the default', () => {
    const draft = mergePatch(remote, { maxTaskTtl: CLEARED, maxTokenTtl: CLEARED });
    expect([draft.maxTaskTtl, draft.maxTokenTtl]).to.deep.equal([undefined, undefined]);
  });

  const sources: readonly [string, typeof remote, Parameters<typeof mergePatch>[1], string | undefined, unknown][] = [
    ['a jwks_uri clears stored jwks', inline, { jwksUri: 'https://n.example' }, 'https://n.example', undefined],
    ['jwks clear a stored jwks_uri', remote, { jwks: otherJwks }, undefined, otherJwks],
    ['null for the other one changes nothing', remote, { jwks: otherJwks, jwksUri: CLEARED }, undefined, otherJwks],
    ['null for an absent source changes nothing', inline, { jwksUri: CLEARED }, undefined, { keys: [P256_KEY] }],
    ['an agent without keys gets jwks', keyless, { jwks: otherJwks }, undefined, otherJwks],
    ['an agent without keys keeps none', keyless, { jwksUri: CLEARED }, undefined, undefined],
    ['null for the stored source leaves neither', inline, { jwks: CLEARED }, undefined, undefined],
    [
      'both remain if both are sent',
      inline,
      { jwksUri: 'https://n.example', jwks: otherJwks },
      'https://n.example',
      otherJwks,
    ],
  ];
  for (const [what, stored, patch, jwksUri, jwks] of sources) {
    it(`merges jwks and jwks_uri: ${what}`, () => {
      const draft = mergePatch(stored, patch);
      expect([draft.jwksUri, draft.jwks]).to.deep.equal([jwksUri, jwks]);
    });
  }

  it('lists its fields in the order of the table, including those set to null', () => {
    const carried = carriedFields({
      enabled: false,
      jwksUri: CLEARED,
      maxTaskTtl: CLEARED,
      displayName: 'x',
      agentId: 'a',
    });
    expect(carried).to.deep.equal(['agent_id', 'display_name', 'max_task_ttl', 'jwks_uri', 'enabled']);
  });

  it('only disables the agent if enabled: false is its only change', () => {
    expect(onlyDisables({ enabled: false })).to.equal(true);
    expect(onlyDisables({ enabled: false, agentId: 'jira-triage' })).to.equal(true);
    expect(onlyDisables({ enabled: true })).to.equal(false);
    expect(onlyDisables({ enabled: false, displayName: 'x' })).to.equal(false);
    expect(onlyDisables({})).to.equal(false);
  });
});
