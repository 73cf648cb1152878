/** What each field of a registration has to be before its rules are asked, for whoever sends it as JSON or writes it in YAML. */

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

/** The answer to any other shape. */
export const shapeSentences: Readonly<Record<FieldShape, string>> = {
  text: 'Must be a string.',
  boolean: 'Must be true or false.',
  texts: 'Must be an array of strings.',
  duration: 'Must be an ISO 8601 duration above zero, such as PT30M, without years, months or fractions.',
  integer: 'Must be an integer.',
  object: 'Must be an object.',
};

/** `sponsor_required` has one legal value, which a registration without the field has. */
export const DEFAULT_SPONSOR_REQUIRED = true;

/** Without these there is no registration. */
export const requiredFields = [
  'agent_id',
  'display_name',
  'allowed_scopes',
  'allowed_audiences',
  'max_delegation_depth',
] as const satisfies readonly RegistrationField[];

export const MISSING_FIELD = 'Must be set.';
export const UNKNOWN_FIELD = 'Is not a field of a registration.';
