/**
 * An agent as a file declares it, to be made so at a server whose settings are not known here. What the file leaves out
 * stays as it is there: a lifetime that was given otherwise, or an agent that was disabled in an emergency.
 */

import type { JsonObject } from '../tokens/strict-json.ts';
import type { Registration } from './agent.ts';
import type { RegistrationRules } from './registration.ts';
import { fieldNames, type RegistrationDraft, type RegistrationField } from './registration-draft.ts';
import { carriedFields, type RegistrationPatch } from './registration-patch.ts';
import { isSameRegistration } from './same-registration.ts';

/** All that a registration cannot do without is there, so that an agent that is missing can be registered. */
export interface Declaration extends RegistrationPatch {
  readonly agentId: string;
  readonly displayName: string;
  readonly sponsorRequired: boolean;
  readonly allowedScopes: readonly string[];
  readonly allowedAudiences: readonly string[];
  readonly maxDelegationDepth: number;
  readonly maxTaskTtl?: number | undefined;
  readonly maxTokenTtl?: number | undefined;
  readonly jwksUri?: string | undefined;
  readonly jwks?: JsonObject | undefined;
}

/** A hundred years, the longest that any duration may be. */
const LONGEST = 36_525 * 86_400;

/**
 * The rules as far as they hold at every server: its bounds on lifetimes, and its own address, are for it to apply.
 * Defaults are such that nothing unnamed gets in the way of what is named.
 */
export const CERTAIN_RULES: RegistrationRules = {
  lifetimes: {
    defaultTaskTtl: LONGEST,
    defaultTokenTtl: 1,
    minTaskTtl: 1,
    maxTaskTtl: LONGEST,
    minTokenTtl: 1,
    maxTokenTtl: LONGEST,
  },
  issuer: 'https://issuer.invalid',
};

export function draftOf(declaration: Declaration): RegistrationDraft {
  return {
    agentId: declaration.agentId,
    displayName: declaration.displayName,
    sponsorRequired: declaration.sponsorRequired,
    allowedScopes: declaration.allowedScopes,
    allowedAudiences: declaration.allowedAudiences,
    maxTaskTtl: declaration.maxTaskTtl,
    maxTokenTtl: declaration.maxTokenTtl,
    maxDelegationDepth: declaration.maxDelegationDepth,
    highRiskAudiences: declaration.highRiskAudiences ?? [],
    jwksUri: declaration.jwksUri,
    jwks: declaration.jwks,
    enabled: declaration.enabled ?? true,
  };
}

/** Where a registration that stands holds each field. */
const HOLDERS = {
  agentId: 'agentId',
  displayName: 'displayName',
  sponsorRequired: 'sponsorRequired',
  allowedScopes: 'allowedScopes',
  allowedAudiences: 'allowedAudiences',
  maxTaskTtl: 'maxTaskTtl',
  maxTokenTtl: 'maxTokenTtl',
  maxDelegationDepth: 'maxDelegationDepth',
  highRiskAudiences: 'highRiskAudiences',
  jwksUri: 'keys',
  jwks: 'keys',
  enabled: 'enabled',
} as const satisfies Record<keyof RegistrationDraft, keyof Registration>;

const FIELDS = Object.keys(fieldNames) as readonly (keyof RegistrationDraft)[];

/**
 * The fields that the declaration names and the stored registration holds otherwise, in the order of the table.
 *
 * @param judged the declaration's own registration, whose keys have the form in which a server stores them
 */
export function differingFields(
  declaration: Declaration,
  judged: Registration,
  stored: Registration,
): readonly RegistrationField[] {
  return FIELDS.filter((field) => {
    const holder = HOLDERS[field];
    return declaration[field] !== undefined && !isSameRegistration({ ...stored, [holder]: judged[holder] }, stored);
  }).map((field) => fieldNames[field]);
}

/** The declaration's patch of these fields alone. */
export function patchOf(declaration: Declaration, fields: readonly RegistrationField[]): RegistrationPatch {
  const named = FIELDS.filter((field) => fields.includes(fieldNames[field]));
  return Object.fromEntries(named.map((field) => [field, declaration[field]]));
}

/** Every field that the declaration names and that can be sent with a registration. */
export function registrationFields(declaration: Declaration): readonly RegistrationField[] {
  return carriedFields(declaration).filter((field) => field !== fieldNames.enabled);
}
