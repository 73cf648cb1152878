/** The type of each registration field, in a JSON request and in a YAML file: checked before the field's rules. */

import type { RegistrationField } from './registration-draft.ts';

export type FieldShape = 'text' | 'boolean' | 'texts' | 'duration' | 'integer' | 'object';

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
  enabled: 'boolean',
} as const satisfies Readonly<Record<RegistrationField, FieldShape>>;

/** The refusal of a value that has another type. */
export const shapeSentences: Readonly<Record<FieldShape, string>> = {
  text: 'Must be a string.',
  boolean: 'Must be true or false.',
  texts: 'Must be an array of strings.',
  duration: 'Must be an ISO 8601 duration above zero, such as PT30M, without years, months or fractions.',
  integer: 'Must be an integer.',
  object: 'Must be an object.',
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
