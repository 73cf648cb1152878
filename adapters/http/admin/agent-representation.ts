/**
 * Parses the body of a registration (specification "Validation errors"): every required field, all of the right type, no
 * other field. Reports all problems at once. The domain then checks the rules of a registration.
 */

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Response } from 'express';
import type { Agent } from '../../../domain/agents/agent.ts';
import { presentMayActName, readMayActNames } from '../../../domain/agents/may-act-name.ts';
import type { RegistrationRules } from '../../../domain/agents/registration.ts';
import {
  DEFAULT_SPONSOR_REQUIRED,
  MISSING_FIELD,
  type RegistrationDraft,
  requiredFields,
  shapeSentences,
  UNKNOWN_FIELD,
} from '../../../domain/agents/registration-draft.ts';
import { CLEARED, type RegistrationPatch } from '../../../domain/agents/registration-patch.ts';
import { formatDuration, parseIsoDuration } from '../../../domain/duration.ts';
import type { FieldError } from '../../../domain/field-error.ts';
import { toShortText } from '../../../domain/instant.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { answerProblem } from '../message/problem-details.ts';

type OptionalFields = {
  readonly sponsor_required?: boolean;
  readonly max_task_ttl?: string | null;
  readonly max_token_ttl?: string | null;
  readonly high_risk_audiences?: readonly string[];
  readonly jwks_uri?: string | null;
  readonly jwks?: JsonObject | null;
  readonly may_act_names?: readonly JsonObject[] | null;
};
type RequiredFields = {
  readonly agent_id: string;
  readonly display_name: string;
  readonly allowed_scopes: readonly string[];
  readonly allowed_audiences: readonly string[];
  readonly max_delegation_depth: number;
};
type RegistrationBody = RequiredFields & OptionalFields;
type PatchBody = Partial<RequiredFields> & OptionalFields & { readonly enabled?: boolean };

const TEXT = { schema: { type: 'string' }, sentence: shapeSentences.text };
const BOOLEAN = { schema: { type: 'boolean' }, sentence: shapeSentences.boolean };
const TEXTS = { schema: { type: 'array', items: { type: 'string' } }, sentence: shapeSentences.texts };
const DURATION = {
  schema: { type: ['string', 'null'], format: 'iso-duration' },
  sentence: shapeSentences.duration,
};

/** The schema of each field, and its error sentence for a wrong type. A list gets the sentence only once. */
const fields = {
  agent_id: TEXT,
  display_name: TEXT,
  sponsor_required: BOOLEAN,
  allowed_scopes: TEXTS,
  allowed_audiences: TEXTS,
  max_task_ttl: DURATION,
  max_token_ttl: DURATION,
  max_delegation_depth: { schema: { type: 'integer' }, sentence: shapeSentences.integer },
  high_risk_audiences: TEXTS,
  jwks_uri: { schema: { type: ['string', 'null'] }, sentence: shapeSentences.text },
  jwks: { schema: { type: ['object', 'null'] }, sentence: shapeSentences.object },
} as const;
const MAY_ACT_NAMES = {
  schema: { type: ['array', 'null'], items: closedObject({ sub: TEXT, client_id: TEXT }, []) },
  sentence: shapeSentences.names,
};
const patchFields = { ...fields, enabled: BOOLEAN } as const;
const everyField = { ...patchFields, may_act_names: MAY_ACT_NAMES } as const;
const required: readonly (keyof RequiredFields)[] = requiredFields;

const ajv = new Ajv({
  allErrors: true,
  allowUnionTypes: true,
  // Reads only own properties of the body, never those of its prototype.
  ownProperties: true,
  // Both schemas are written here, and tests cover them. Compiling the meta-schema would take longer than compiling both.
  meta: false,
  validateSchema: false,
  formats: { 'iso-duration': (text: string) => parseIsoDuration(text) !== undefined },
});

/** `knowsMayActNames` of the registration's rules: without it, `may_act_names` is an unknown member, and is not shown. */
type Knowing = Pick<RegistrationRules, 'knowsMayActNames'>;

const compile = ({ knowsMayActNames }: Knowing) => {
  const more = knowsMayActNames ? { may_act_names: MAY_ACT_NAMES } : {};
  return {
    isRegistration: ajv.compile<RegistrationBody>(closedObject({ ...fields, ...more }, required)),
    isPatch: ajv.compile<PatchBody>(closedObject({ ...patchFields, ...more }, [])),
  };
};
const compiled = new Map<boolean, ReturnType<typeof compile>>();

/** Compiles at the first registration, because compiling takes long and no other request needs it. */
function bodyShapes(rules: Knowing): ReturnType<typeof compile> {
  const shapes = compiled.get(rules.knowsMayActNames) ?? compile(rules);
  compiled.set(rules.knowsMayActNames, shapes);
  return shapes;
}

type Parsed<T> =
  | { readonly kind: 'parsed'; readonly value: T }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };

export function parseRegistration(body: JsonObject, rules: Knowing): Parsed<RegistrationDraft> {
  const candidate: unknown = body;
  const { isRegistration } = bodyShapes(rules);
  if (!isRegistration(candidate)) return { kind: 'invalid', errors: shapeErrors(isRegistration) };
  return {
    kind: 'parsed',
    value: {
      agentId: candidate.agent_id,
      displayName: candidate.display_name,
      sponsorRequired: candidate.sponsor_required ?? DEFAULT_SPONSOR_REQUIRED,
      allowedScopes: candidate.allowed_scopes,
      allowedAudiences: candidate.allowed_audiences,
      maxTaskTtl: seconds(candidate.max_task_ttl),
      maxTokenTtl: seconds(candidate.max_token_ttl),
      maxDelegationDepth: candidate.max_delegation_depth,
      highRiskAudiences: candidate.high_risk_audiences ?? [],
      jwksUri: candidate.jwks_uri ?? undefined,
      jwks: candidate.jwks ?? undefined,
      mayActNames: readMayActNames(candidate.may_act_names ?? undefined),
      enabled: true,
    },
  };
}

export function parsePatch(body: JsonObject, rules: Knowing): Parsed<RegistrationPatch> {
  const candidate: unknown = body;
  const { isPatch } = bodyShapes(rules);
  if (!isPatch(candidate)) return { kind: 'invalid', errors: shapeErrors(isPatch) };
  return {
    kind: 'parsed',
    value: {
      agentId: candidate.agent_id,
      displayName: candidate.display_name,
      sponsorRequired: candidate.sponsor_required,
      allowedScopes: candidate.allowed_scopes,
      allowedAudiences: candidate.allowed_audiences,
      maxTaskTtl: candidate.max_task_ttl === null ? CLEARED : seconds(candidate.max_task_ttl),
      maxTokenTtl: candidate.max_token_ttl === null ? CLEARED : seconds(candidate.max_token_ttl),
      maxDelegationDepth: candidate.max_delegation_depth,
      highRiskAudiences: candidate.high_risk_audiences,
      jwksUri: candidate.jwks_uri === null ? CLEARED : candidate.jwks_uri,
      jwks: candidate.jwks === null ? CLEARED : candidate.jwks,
      mayActNames: candidate.may_act_names === null ? CLEARED : readMayActNames(candidate.may_act_names),
      enabled: candidate.enabled,
    },
  };
}

/** A lifetime of null counts as absent. */
function seconds(duration: string | null | undefined): number | undefined {
  return typeof duration === 'string' ? parseIsoDuration(duration) : undefined;
}

function closedObject(properties: Readonly<Record<string, { schema: object }>>, needed: readonly string[]): object {
  const schemas = Object.entries(properties).map(([name, { schema }]) => [name, schema]);
  return { type: 'object', properties: Object.fromEntries(schemas), required: needed, additionalProperties: false };
}

function shapeErrors(validate: ValidateFunction): readonly FieldError[] {
  return (validate.errors ?? []).map(shapeError);
}

function shapeError({ keyword, params, instancePath }: ErrorObject): FieldError {
  if (keyword === 'required') return { field: String(params.missingProperty), sentence: MISSING_FIELD };
  if (keyword === 'additionalProperties' && instancePath === '') {
    const field = String(params.additionalProperty);
    const sentence = field === 'enabled' ? 'Can be set by PATCH only.' : UNKNOWN_FIELD;
    return { field, sentence };
  }
  const field = instancePath.split('/')[1] ?? '';
  return { field, sentence: isField(field) ? everyField[field].sentence : 'Is not acceptable.' };
}

function isField(name: string): name is keyof typeof everyField {
  return Object.hasOwn(everyField, name);
}

/** An agent as JSON (supplement "Agents"): first the fields of the registration, in the specification's order. */
export function presentAgent(agent: Agent, { knowsMayActNames }: Knowing): Record<string, unknown> {
  return {
    agent_id: agent.agentId,
    display_name: agent.displayName,
    sponsor_required: agent.sponsorRequired,
    allowed_scopes: agent.allowedScopes,
    allowed_audiences: agent.allowedAudiences,
    max_task_ttl: formatDuration(agent.maxTaskTtl),
    max_token_ttl: formatDuration(agent.maxTokenTtl),
    max_delegation_depth: agent.maxDelegationDepth,
    high_risk_audiences: agent.highRiskAudiences,
    jwks_uri: agent.keys.kind === 'remote' ? agent.keys.uri : null,
    jwks: agent.keys.kind === 'inline' ? agent.keys.jwks : null,
    ...(knowsMayActNames && { may_act_names: agent.mayActNames?.map(presentMayActName) ?? null }),
    enabled: agent.enabled,
    created_at: toShortText(agent.createdAt),
    updated_at: toShortText(agent.updatedAt),
  };
}

export function answerUnknownAgent(response: Response): void {
  answerProblem(response, { status: 404, detail: 'There is no such agent.', reason: 'unknown_agent' });
}
