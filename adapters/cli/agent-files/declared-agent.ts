/** Parses one registration of a file: all required fields in the right form, no other fields. Reports every problem. */

import type { Declaration } from '../../../domain/agents/declaration.ts';
import {
  DEFAULT_SPONSOR_REQUIRED,
  fieldShapes,
  MISSING_FIELD,
  requiredFields,
  shapeSentences,
  UNKNOWN_FIELD,
} from '../../../domain/agents/field-shapes.ts';
import type { RegistrationField } from '../../../domain/agents/registration-draft.ts';
import { parseIsoDuration } from '../../../domain/duration.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../domain/tokens/strict-json.ts';
import type { YamlMapping } from './yaml-documents.ts';

interface FieldProblem {
  readonly line: number;
  readonly field: string | undefined;
  readonly sentence: string;
}

export interface ReadAgent {
  /** The draft, with a placeholder for each wrong field. */
  readonly declaration: Declaration;
  readonly problems: readonly FieldProblem[];
}

/** A field name that may be printed. Other text may be a secret that is misplaced to the left of a colon. */
const NAME = /^[\w.-]{1,64}$/;

export function declaredAgent(mapping: YamlMapping): ReadAgent {
  const problems: FieldProblem[] = [];
  for (const [name, { line }] of mapping.fields) {
    if (Object.hasOwn(fieldShapes, name)) continue;
    problems.push({ line, field: NAME.test(name) ? name : undefined, sentence: UNKNOWN_FIELD });
  }
  for (const field of requiredFields) {
    if (!mapping.fields.has(field) && !mapping.unread.has(field))
      problems.push({ line: mapping.line, field, sentence: MISSING_FIELD });
  }
  const read = <Value>(field: RegistrationField, as: (value: Json) => Value | undefined): Value | undefined => {
    const found = mapping.fields.get(field);
    if (found === undefined) return undefined;
    const value = as(found.value);
    if (value === undefined) {
      problems.push({ line: found.line, field, sentence: shapeSentences[fieldShapes[field]] });
    }
    return value;
  };
  const declaration = {
    agentId: read('agent_id', text) ?? '',
    displayName: read('display_name', text) ?? '',
    sponsorRequired: read('sponsor_required', boolean) ?? DEFAULT_SPONSOR_REQUIRED,
    allowedScopes: read('allowed_scopes', texts) ?? [],
    allowedAudiences: read('allowed_audiences', texts) ?? [],
    maxTaskTtl: read('max_task_ttl', seconds),
    maxTokenTtl: read('max_token_ttl', seconds),
    maxDelegationDepth: read('max_delegation_depth', integer) ?? 0,
    highRiskAudiences: read('high_risk_audiences', texts),
    jwksUri: read('jwks_uri', text),
    jwks: read('jwks', object),
    enabled: read('enabled', boolean),
  };
  return { declaration, problems };
}

function text(value: Json): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function boolean(value: Json): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function integer(value: Json): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

function seconds(value: Json): number | undefined {
  return typeof value === 'string' ? parseIsoDuration(value) : undefined;
}

function object(value: Json): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

function texts(value: Json): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = value.filter((item: Json) => typeof item === 'string');
  return found.length === value.length ? found : undefined;
}
