/**
 * A registration as an operator sends it (specification "Agent registration"): of the right types, and nothing more
 * is known of it yet. Only registration.ts makes a Registration of one.
 */

import type { JsonObject } from '../tokens/strict-json.ts';

export interface RegistrationDraft {
  readonly agentId: string;
  readonly displayName: string;
  readonly sponsorRequired: boolean;
  readonly allowedScopes: readonly string[];
  readonly allowedAudiences: readonly string[];
  /** Seconds; `undefined` leaves it to the defaults, as for the next. */
  readonly maxTaskTtl: number | undefined;
  readonly maxTokenTtl: number | undefined;
  readonly maxDelegationDepth: number;
  readonly highRiskAudiences: readonly string[];
  readonly jwksUri: string | undefined;
  readonly jwks: JsonObject | undefined;
  readonly enabled: boolean;
}

/** What operators, error lists and the ledger call each field, in the order of the specification's table. */
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
