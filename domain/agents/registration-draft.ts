/**
 * A registration as an operator sends it (specification "Agent registration"): its types are checked, its values are
 * not. Only registration.ts turns a draft into a Registration.
 */

import type { JsonObject } from '../tokens/strict-json.ts';
import type { MayActName } from './may-act-name.ts';

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
  readonly mayActNames: readonly MayActName[] | undefined;
  readonly redirectUris: readonly string[] | undefined;
  readonly publicClient: boolean;
  readonly clientIdDocument: string | undefined;
  readonly clientNames: readonly string[] | undefined;
  readonly delegatesTo: readonly string[] | undefined;
  readonly enabled: boolean;
}

/**
 * The public name of each field, in requests, error lists and the ledger; in the order of the specification's table.
 * Those of `MAY_ACT_FIELDS`, `AUTHORIZE_FIELDS` and `DELEGATION_FIELDS` are not in that table.
 */
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
  mayActNames: 'may_act_names',
  redirectUris: 'redirect_uris',
  publicClient: 'public_client',
  clientIdDocument: 'client_id_document',
  clientNames: 'client_names',
  delegatesTo: 'delegates_to',
  enabled: 'enabled',
} as const satisfies Record<keyof RegistrationDraft, string>;

export type RegistrationField = (typeof fieldNames)[keyof RegistrationDraft];

/** Requests and answers have these fields only under `Service:UpstreamIdp:MayAct`. */
export const MAY_ACT_FIELDS = ['may_act_names'] as const satisfies readonly RegistrationField[];

/** Requests and answers have these fields only under `Service:Authorize:ClientId`. */
export const AUTHORIZE_FIELDS = [
  'redirect_uris',
  'public_client',
  'client_id_document',
  'client_names',
] as const satisfies readonly RegistrationField[];

/** Requests and answers have these fields only under `Service:Delegation:Enabled`. */
export const DELEGATION_FIELDS = ['delegates_to'] as const satisfies readonly RegistrationField[];

/** The optional fields that the settings make known. */
export type KnownFields = ReadonlySet<RegistrationField>;

/** The fields that requests may not have and answers do not show. Their stored values are kept. */
export function unknownFields(knows: KnownFields): readonly RegistrationField[] {
  return [...MAY_ACT_FIELDS, ...AUTHORIZE_FIELDS, ...DELEGATION_FIELDS].filter((field) => !knows.has(field));
}

type FieldShape = 'text' | 'boolean' | 'texts' | 'duration' | 'integer' | 'object' | 'names';

/** The type of each field, in a JSON request and in a YAML file: checked before the field's rules. */
export const fieldShapes = {
  agent_id: 'text',
  display_name: 'text',
  sponsor_required: 'boolean',
  allowed_scopes: 'texts',
  allowed_audiences: 'texts',
  max_task_ttl: 'duration',
  max_token_ttl: 'duration',
  max_delegation_depth: 'integer',
  high_risk_audiences: 'texts',
  jwks_uri: 'text',
  jwks: 'object',
  may_act_names: 'names',
  redirect_uris: 'texts',
  public_client: 'boolean',
  client_id_document: 'text',
  client_names: 'texts',
  delegates_to: 'texts',
  enabled: 'boolean',
} as const satisfies Readonly<Record<RegistrationField, FieldShape>>;

/** The error sentence for a value of another type, by the type that the field must have. */
export const shapeSentences: Readonly<Record<FieldShape, string>> = {
  text: 'Must be a string.',
  boolean: 'Must be true or false.',
  texts: 'Must be an array of strings.',
  duration: 'Must be an ISO 8601 duration above zero, such as PT30M, without years, months or fractions.',
  integer: 'Must be an integer.',
  object: 'Must be an object.',
  names: 'Must be an array of objects that have sub, client_id or both, as strings, and nothing else.',
};

/** `true` is the only legal value of `sponsor_required`, so a request may leave the field out. */
export const DEFAULT_SPONSOR_REQUIRED = true;

/** A request that leaves one of these out is refused. */
export const requiredFields = [
  'agent_id',
  'display_name',
  'allowed_scopes',
  'allowed_audiences',
  'max_delegation_depth',
] as const satisfies readonly RegistrationField[];

export const MISSING_FIELD = 'Must be set.';
export const UNKNOWN_FIELD = 'Is not a field of a registration.';
