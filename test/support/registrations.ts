/** Registrations in which no field has its default value. */

import type { RegistrationRules } from '../../domain/agents/registration.ts';
import type { RegistrationDraft } from '../../domain/agents/registration-draft.ts';

/** The public part of the key in RFC 7515 appendix A.3. */
export const P256_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  kid: 'rfc-7515-a-3',
  use: 'sig',
  alg: 'ES256',
};

/** The same key with a `y` for which the point is not on the curve. */
export const OFF_CURVE_KEY = { ...P256_KEY, kid: 'off-curve', y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a4' };

/** The default settings: lifetimes (specification "Lifetimes") in seconds, and no optional field. */
export const RULES: RegistrationRules = {
  issuer: 'https://mandate.test',
  knows: new Set(),
  lifetimes: {
    defaultTaskTtl: 1800,
    defaultTokenTtl: 300,
    minTaskTtl: 60,
    maxTaskTtl: 86_400,
    minTokenTtl: 30,
    maxTokenTtl: 3600,
  },
};

export function aDraft(changes: Partial<RegistrationDraft> = {}): RegistrationDraft {
  return {
    agentId: 'jira-triage',
    displayName: 'Jira triage',
    sponsorRequired: true,
    allowedScopes: ['jira:read', 'jira:comment'],
    allowedAudiences: ['https://jira.example', 'https://wiki.example/team?space=7'],
    maxTaskTtl: 1200,
    maxTokenTtl: 240,
    maxDelegationDepth: 3,
    highRiskAudiences: ['https://vault.example'],
    jwksUri: undefined,
    jwks: { keys: [P256_KEY] },
    mayActNames: [{ sub: '7f3c', clientId: 'jira-client' }],
    redirectUris: ['https://triage.example/callback', 'http://127.0.0.1/callback', 'cursor://triage/callback'],
    publicClient: true,
    clientIdDocument: 'https://triage.example/client.json',
    clientNames: ['Triage', 'Triage (*'],
    delegatesTo: ['jira-triage', 'wiki-reader'],
    enabled: true,
    ...changes,
  };
}

/** A body of POST /admin/agents. */
export function aRegistrationBody(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    agent_id: 'jira-triage',
    display_name: 'Jira triage',
    sponsor_required: true,
    allowed_scopes: ['jira:read', 'jira:comment'],
    allowed_audiences: ['https://jira.example', 'https://wiki.example/team?space=7'],
    max_task_ttl: 'PT1200S',
    max_token_ttl: 'PT4M',
    max_delegation_depth: 3,
    high_risk_audiences: ['https://vault.example'],
    jwks: { keys: [P256_KEY] },
    ...changes,
  };
}
