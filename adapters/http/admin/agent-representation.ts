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
  unknownFields,
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
  readonly redirect_uris?: readonly string[] | null;
  readonly public_client?: boolean;
  readonly client_id_document?: string | null;
  readonly client_names?: readonly string[] | null;
  readonly delegates_to?: readonly string[] | null;
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
const TEXT_OR_NULL = { schema: { type: ['string', 'null'] }, sentence: shapeSentences.text };
const TEXTS_OR_NULL = {
  schema: { type: ['array', 'null'], items: { type: 'string' } },
  sentence: shapeSentences.texts,
};
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
  jwks_uri: TEXT_OR_NULL,
  jwks: { schema: { type: ['object', 'null'] }, sentence: shapeSentences.object },
  may_act_names: {
    schema: { type: ['array', 'null'], items: closedObject({ sub: TEXT, client_id: TEXT }, []) },
    sentence: shapeSentences.names,
  },
  redirect_uris: TEXTS_OR_NULL,
  public_client: BOOLEAN,
  client_id_document: TEXT_OR_NULL,
  client_names: TEXTS_OR_NULL,
  delegates_to: TEXTS_OR_NULL,
} as const;
const patchFields = { ...fields, enabled: BOOLEAN } as const;
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

/** Any other optional field is an unknown member of a body, and is not shown. */
type Knowing = Pick<RegistrationRules, 'knows'>;

const compile = (unknown: readonly string[]) => {
  const known = (shapes: Readonly<Record<string, { schema: object }>>) =>
    Object.fromEntries(Object.entries(shapes).filter(([field]) => !unknown.includes(field)));
  return {
    isRegistration: ajv.compile<RegistrationBody>(closedObject(known(fields), required)),
    isPatch: ajv.compile<PatchBody>(closedObject(known(patchFields), [])),
  };
};
/** By the unknown fields. */
const compiled = new Map<string, ReturnType<typeof compile>>();

/** Compiles at the first registration, because compiling takes long and no other request needs it. */
function bodyShapes({ knows }: Knowing): ReturnType<typeof compile> {
  const unknown = unknownFields(knows);
  const shapes = compiled.get(unknown.join()) ?? compile(unknown);
  compiled.set(unknown.join(), shapes);
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
      redirectUris: candidate.redirect_uris ?? undefined,
      publicClient: candidate.public_client ?? false,
      clientIdDocument: candidate.client_id_document ?? undefined,
      clientNames: candidate.client_names ?? undefined,
      delegatesTo: candidate.delegates_to ?? undefined,
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
      redirectUris: candidate.redirect_uris === null ? CLEARED : candidate.redirect_uris,
      publicClient: candidate.public_client,
      clientIdDocument: candidate.client_id_document === null ? CLEARED : candidate.client_id_document,
      clientNames: candidate.client_names === null ? CLEARED : candidate.client_names,
      delegatesTo: candidate.delegates_to === null ? CLEARED : candidate.delegates_to,
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
  return { field, sentence: isField(field) ? patchFields[field].sentence : 'Is not acceptable.' };
}

function isField(name: string): name is keyof typeof patchFields {
  return Object.hasOwn(patchFields, name);
}

/** An agent as JSON (supplement "Agents"): first the fields of the registration, in the specification's order. */
export function presentAgent(agent: Agent, { knows }: Knowing): Record<string, unknown> {
  const everything = {
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
    may_act_names: agent.mayActNames?.map(presentMayActName) ?? null,
    redirect_uris: agent.redirectUris ?? null,
    public_client: agent.publicClient,
    client_id_document: agent.clientIdDocument ?? null,
    client_names: agent.clientNames ?? null,
    ...(agent.delegatesTo && { delegates_to: agent.delegatesTo }),
    enabled: agent.enabled,
    created_at: toShortText(agent.createdAt),
    updated_at: toShortText(agent.updatedAt),
  };
  const unknown: readonly string[] = unknownFields(knows);
  return Object.fromEntries(Object.entries(everything).filter(([field]) => !unknown.includes(field)));
}

export function answerUnknownAgent(response: Response): void {
  answerProblem(response, { status: 404, detail: 'There is no such agent.', reason: 'unknown_agent' });
}
