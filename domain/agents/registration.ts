/**
 * The registration as a whole: every rule of the specification's "Agent registration" (supplement "Agents"). All
 * problems are reported at once.
 *
 * A registration comes as a draft (registration-draft.ts), as a change of a stored one (registration-patch.ts), or
 * from a file (declaration.ts). The rules of its parts: fields (field-rules.ts), lifetimes (lifetimes.ts), keys
 * (key-set.ts, public-key.ts). The result is an agent (agent.ts). assertion.ts checks the claims with which an agent
 * authenticates.
 */

import { clientDocumentProblem } from '../address.ts';
import { formatDuration } from '../duration.ts';
import { type FieldError, fieldErrors } from '../field-error.ts';
import { parseAgentId } from '../identifiers.ts';
import { MAX_DELEGATION_DEPTH, type Registration } from './agent.ts';
import {
  allowedAudienceProblems,
  audienceProblems,
  clientNameProblems,
  delegateProblems,
  displayNameProblems,
  judgeKeySource,
  mayActNameProblems,
  redirectUriProblems,
  scopeProblems,
} from './field-rules.ts';
import { type LifetimeProblem, type LifetimeRules, resolveLifetimes } from './lifetimes.ts';
import { fieldNames, type KnownFields, type RegistrationDraft, unknownFields } from './registration-draft.ts';

/** The operator's settings that every registration must satisfy. */
export interface RegistrationRules {
  readonly lifetimes: LifetimeRules;
  /** The control plane's own URL: a `jwks_uri` on its host is refused. */
  readonly issuer: string;
  /** The optional fields that requests and answers have. */
  readonly knows: KnownFields;
}

export type RegistrationVerdict =
  | { readonly kind: 'valid'; readonly registration: Registration }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };

export function judgeRegistration(draft: RegistrationDraft, rules: RegistrationRules): RegistrationVerdict {
  const agentId = parseAgentId(draft.agentId);
  const lifetimes = resolveLifetimes(draft, rules.lifetimes);
  const keys = judgeKeySource(draft, rules.issuer);
  const errors = [
    ...(agentId === undefined ? fieldErrors(fieldNames.agentId, AGENT_ID) : []),
    ...plainErrors(draft),
    ...clientErrors(draft, rules.issuer),
    ...(lifetimes.kind === 'refused' ? lifetimes.problems.flatMap(lifetimeErrors) : []),
    ...(keys.kind === 'refused' ? keys.errors : []),
  ];
  if (agentId === undefined || lifetimes.kind === 'refused' || keys.kind === 'refused' || errors.length > 0) {
    return { kind: 'invalid', errors };
  }
  const { displayName, allowedScopes, allowedAudiences, maxDelegationDepth, highRiskAudiences, enabled } = draft;
  const { mayActNames, redirectUris, publicClient, clientIdDocument, clientNames } = draft;
  const delegates = draft.delegatesTo?.flatMap((id) => parseAgentId(id) ?? []) ?? [];
  return {
    kind: 'valid',
    registration: {
      agentId,
      displayName,
      sponsorRequired: true,
      allowedScopes,
      allowedAudiences,
      ...lifetimes.lifetimes,
      maxDelegationDepth,
      highRiskAudiences,
      keys: keys.source,
      mayActNames,
      redirectUris,
      publicClient,
      clientIdDocument,
      clientNames,
      delegatesTo: delegates.length === 0 ? undefined : delegates,
      enabled,
    },
  };
}

const AGENT_ID =
  'Must be 1 to 128 lowercase letters, digits, hyphens, underscores and dots, and start with a letter or digit.';

/** The fields whose rules depend on no other field. */
function plainErrors(draft: RegistrationDraft): readonly FieldError[] {
  const { maxDelegationDepth: depth } = draft;
  const depthFits = Number.isInteger(depth) && depth >= 1 && depth <= MAX_DELEGATION_DEPTH;
  return [
    ...fieldErrors(fieldNames.displayName, ...displayNameProblems(draft.displayName)),
    // An agent always acts for a human, so a registration without a sponsor is refused.
    ...(draft.sponsorRequired ? [] : fieldErrors(fieldNames.sponsorRequired, 'Must be true.')),
    ...fieldErrors(fieldNames.allowedScopes, ...scopeProblems(draft.allowedScopes)),
    ...fieldErrors(fieldNames.allowedAudiences, ...allowedAudienceProblems(draft.allowedAudiences)),
    ...(depthFits ? [] : fieldErrors(fieldNames.maxDelegationDepth, `Must be from 1 to ${MAX_DELEGATION_DEPTH}.`)),
    ...fieldErrors(fieldNames.highRiskAudiences, ...audienceProblems(draft.highRiskAudiences)),
    ...fieldErrors(fieldNames.mayActNames, ...mayActNameProblems(draft.mayActNames)),
    ...fieldErrors(fieldNames.delegatesTo, ...delegateProblems(draft.delegatesTo)),
  ];
}

/** The fields of a client of `/oauth2/authorize`. */
function clientErrors(draft: RegistrationDraft, issuer: string): readonly FieldError[] {
  const { redirectUris, clientIdDocument: document, clientNames } = draft;
  const documentProblem = document === undefined ? undefined : clientDocumentProblem(document, issuer);
  return [
    ...fieldErrors(fieldNames.redirectUris, ...redirectUriProblems(redirectUris)),
    ...(documentProblem === undefined ? [] : fieldErrors(fieldNames.clientIdDocument, documentProblem)),
    ...fieldErrors(fieldNames.clientNames, ...clientNameProblems(clientNames)),
  ];
}

function lifetimeErrors(problem: LifetimeProblem): readonly FieldError[] {
  const sentence =
    problem.fault === 'out_of_bounds'
      ? `Must be from ${formatDuration(problem.min)} to ${formatDuration(problem.max)}.`
      : 'Must not be longer than max_task_ttl.';
  return fieldErrors(fieldNames[problem.lifetime], sentence);
}

const ABSENT = {
  mayActNames: undefined,
  redirectUris: undefined,
  publicClient: false,
  clientIdDocument: undefined,
  clientNames: undefined,
  delegatesTo: undefined,
} as const satisfies Partial<Registration>;

/** The registration as this service shows it: without the values of fields that the settings do not make known. */
export function shownRegistration<Kind extends Registration>(registration: Kind, knows: KnownFields): Kind {
  const unknown = unknownFields(knows);
  const hidden = Object.entries(ABSENT).filter(([field]) => unknown.includes(fieldNames[field as keyof typeof ABSENT]));
  return { ...registration, ...Object.fromEntries(hidden) };
}

/** Whether two registrations are equal (supplement "Agents": `agent.updated` with `no_change`). */
export function isSameRegistration(one: Registration, other: Registration): boolean {
  const fields = Object.keys(one) as readonly (keyof Registration)[];
  return fields.every((field) => isSame(one[field], other[field]));
}

/**
 * Whether a field of two registrations has the same value: compares lists in order, and objects in any order, because a
 * database may return their members in another order.
 */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!isStructure(one) || !isStructure(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

function isStructure(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
