/**
 * A registration as an operator sends it (specification "Agent registration"): its types are right, its values are not
 * checked yet. Only registration.ts turns a draft into a Registration.
 */

import type { JsonObject } from '../tokens/strict-json.ts';

export interface RegistrationDraft {
  readonly agentId: string;
  readonly displayName: string;
  readonly sponsorRequired: boolean;
  readonly allowedScopes: readonly string[];
  readonly allowedAudiences: readonly string[];
  /** Seconds; `undefined` means the default. The same holds for `maxTokenTtl`. */
  readonly maxTaskTtl: number | undefined;
  readonly maxTokenTtl: number | undefined;
  readonly maxDelegationDepth: number;
  readonly highRiskAudiences: readonly string[];
  readonly jwksUri: string | undefined;
  readonly jwks: JsonObject | undefined;
  readonly enabled: boolean;
}

/** The public name of each field: requests, error lists and the ledger use it. Order of the specification's table. */
export const fieldNames = {
  agentId: 'agent_id',
  displayName: 'display_name',
  sponsorRequired: 'sponsor_required',
  allowedScopes: 'allowed_scopes',
  allowedAudiences: 'allowed_audiences',
  maxTaskTtl: 'max_task_ttl',
  maxTokenTtl: 'max_token_ttl',
  maxDelegationDepth: 'max_delegation_depth',
  highRiskAudiences: 'high_risk_audiences',
  jwksUri: 'jwks_uri',
  jwks: 'jwks',
  enabled: 'enabled',
} as const satisfies Record<keyof RegistrationDraft, string>;

export type RegistrationField = (typeof fieldNames)[keyof RegistrationDraft];
