import { expect } from 'chai';
import type { Registration } from '../../../domain/agents/agent.ts';
import {
  CERTAIN_RULES,
  type Declaration,
  differingFields,
  draftOf,
  patchOf,
  registrationFields,
} from '../../../domain/agents/declaration.ts';
import { judgeRegistration } from '../../../domain/agents/registration.ts';
import { CLEARED } from '../../../domain/agents/registration-patch.ts';
import { P256_KEY } from '../../support/registrations.ts';

const declaration: Declaration = {
  agentId: 'jira-triage',
  displayName: 'Jira triage',
  sponsorRequired: true,
  allowedScopes: ['jira:read', 'jira:comment'],
  allowedAudiences: ['https://jira.example'],
  maxTaskTtl: 1200,
  maxTokenTtl: 240,
  maxDelegationDepth: 3,
  highRiskAudiences: ['https://vault.example'],
  jwks: { keys: [P256_KEY] },
  mayActNames: [{ sub: '7f3c', clientId: 'jira-client' }],
  redirectUris: ['https://triage.example/callback'],
  publicClient: true,
  clientIdDocument: 'https://triage.example/client.json',
  clientNames: ['Triage'],
  delegatesTo: ['jira-triage', 'wiki-reader'],
  enabled: false,
};

function judged(changes: Partial<Declaration> = {}): Registration {
  const verdict = judgeRegistration(draftOf({ ...declaration, ...changes }), CERTAIN_RULES);
  if (verdict.kind === 'invalid') throw new Error(JSON.stringify(verdict.errors));
  return verdict.registration;
}

/** The fields of the declaration with this change that differ from the stored registration. */
function differing(changes: Partial<Declaration>) {
  return differingFields({ ...declaration, ...changes }, judged(changes), judged());
}

describe('A declaration', () => {
  it('does not differ from the registration that it made', () => {
    expect(differing({})).to.deep.equal([]);
    expect(differing({ jwks: { keys: [{ ...P256_KEY }], more: 'dropped' } })).to.deep.equal([]);
  });

  const changes: readonly (readonly [Partial<Declaration>, readonly string[]])[] = [
    [{ displayName: 'Other' }, ['display_name']],
    [{ allowedScopes: ['jira:comment', 'jira:read'] }, ['allowed_scopes']],
    [{ allowedAudiences: ['https://wiki.example'] }, ['allowed_audiences']],
    [{ maxTaskTtl: 1201 }, ['max_task_ttl']],
    [{ maxTokenTtl: 241 }, ['max_token_ttl']],
    [{ maxDelegationDepth: 1 }, ['max_delegation_depth']],
    [{ highRiskAudiences: [] }, ['high_risk_audiences']],
    [{ jwks: { keys: [{ ...P256_KEY, kid: 'other' }] } }, ['jwks']],
    [{ jwks: undefined, jwksUri: 'https://keys.example/jwks.json' }, ['jwks_uri']],
    [{ mayActNames: [{ sub: '7f3c', clientId: undefined }] }, ['may_act_names']],
    [{ mayActNames: CLEARED }, ['may_act_names']],
    [{ redirectUris: ['cursor://triage/callback'] }, ['redirect_uris']],
    [{ redirectUris: CLEARED }, ['redirect_uris']],
    [{ publicClient: false }, ['public_client']],
    [{ clientIdDocument: 'https://triage.example/other.json' }, ['client_id_document']],
    [{ clientIdDocument: CLEARED }, ['client_id_document']],
    [{ clientNames: ['Triage', 'Triage*'] }, ['client_names']],
    [{ clientNames: CLEARED }, ['client_names']],
    [{ delegatesTo: ['wiki-reader', 'jira-triage'] }, ['delegates_to']],
    [{ delegatesTo: [] }, ['delegates_to']],
    [{ delegatesTo: CLEARED }, ['delegates_to']],
    [{ enabled: true }, ['enabled']],
    [{ enabled: true, maxTaskTtl: 600, displayName: 'Other' }, ['display_name', 'max_task_ttl', 'enabled']],
  ];
  for (const [change, fields] of changes) {
    it(`that differs in ${fields.join(', ')} sends only these fields`, () => {
      const different = differing(change);
      expect(different).to.deep.equal(fields);
      expect(patchOf({ ...declaration, ...change }, different)).to.deep.equal(
        Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
      );
    });
  }

  it('does not change fields that it does not name', () => {
    const silent = { maxTaskTtl: undefined, maxTokenTtl: undefined, highRiskAudiences: undefined, enabled: undefined };
    expect(differing(silent)).to.deep.equal([]);
  });

  it('registers with every field it names, except enabled', () => {
    expect(registrationFields(declaration)).to.include('max_task_ttl').and.not.include('enabled');
    expect(patchOf(declaration, registrationFields(declaration))).to.have.all.keys(
      Object.keys(declaration).filter((field) => field !== 'enabled'),
    );
  });

  it('is checked only against limits that every server has', () => {
    const century = 36_525 * 86_400;
    expect(judged({ maxTaskTtl: century, maxTokenTtl: century })).to.include({ maxTaskTtl: century });
    expect(judged({ maxTaskTtl: 1, maxTokenTtl: 1 })).to.include({ maxTokenTtl: 1 });
    expect(judged({ maxTaskTtl: undefined, maxTokenTtl: century })).to.include({ maxTokenTtl: century });
    expect(judged({ maxTaskTtl: 1, maxTokenTtl: undefined })).to.include({ maxTaskTtl: 1 });
    const verdict = judgeRegistration(draftOf({ ...declaration, maxTaskTtl: 60, maxTokenTtl: 61 }), CERTAIN_RULES);
    expect(verdict.kind === 'invalid' && verdict.errors.map(({ field }) => field)).to.deep.equal(['max_token_ttl']);
  });
});
