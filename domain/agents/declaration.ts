/**
 * An agent as a YAML file declares it. The command that reads the file does not know the server's settings. The server
 * keeps its own value of each field that the file leaves out, such as an `enabled: false` set in an emergency.
 */

import { MAX_SECONDS } from '../duration.ts';
import type { Registration } from './agent.ts';
import type { RegistrationRules } from './registration.ts';
import { isSameRegistration } from './registration.ts';
import {
  AUTHORIZE_FIELDS,
  DELEGATION_FIELDS,
  fieldNames,
  MAY_ACT_FIELDS,
  type RegistrationDraft,
  type RegistrationField,
} from './registration-draft.ts';
import { CLEARED, carriedFields, type RegistrationPatch } from './registration-patch.ts';

/** Has every required field, so that an agent that the server does not have can be registered from it. */
export type Declaration = RegistrationPatch &
  Pick<
    RegistrationDraft,
    'agentId' | 'displayName' | 'sponsorRequired' | 'allowedScopes' | 'allowedAudiences' | 'maxDelegationDepth'
  > &
  Partial<Pick<RegistrationDraft, 'maxTaskTtl' | 'maxTokenTtl' | 'jwksUri' | 'jwks'>>;

/**
 * The rules that hold at every server. Each server later applies its own lifetime bounds and issuer, so these bounds
 * are the widest possible. These defaults never conflict with a lifetime that the file names.
 */
export const CERTAIN_RULES: RegistrationRules = {
  lifetimes: {
    defaultTaskTtl: MAX_SECONDS,
    defaultTokenTtl: 1,
    minTaskTtl: 1,
    maxTaskTtl: MAX_SECONDS,
    minTokenTtl: 1,
    maxTokenTtl: MAX_SECONDS,
  },
  issuer: 'https://issuer.invalid',
  knows: new Set([...MAY_ACT_FIELDS, ...AUTHORIZE_FIELDS, ...DELEGATION_FIELDS]),
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
    mayActNames: unlessCleared(declaration.mayActNames),
    redirectUris: unlessCleared(declaration.redirectUris),
    publicClient: declaration.publicClient ?? false,
    clientIdDocument: unlessCleared(declaration.clientIdDocument),
    clientNames: unlessCleared(declaration.clientNames),
    delegatesTo: unlessCleared(declaration.delegatesTo),
    enabled: declaration.enabled ?? true,
  };
}

function unlessCleared<Value>(declared: Value | typeof CLEARED): Value | undefined {
  return declared === CLEARED ? undefined : declared;
}

const FIELDS = Object.keys(fieldNames) as readonly (keyof RegistrationDraft)[];

/**
 * The declared fields whose stored value differs, in the order of the specification's table.
 *
 * @param judged the declaration's own registration: its keys already have the form in which a server stores them
 */
export function differingFields(
  declaration: Declaration,
  judged: Registration,
  stored: Registration,
): readonly RegistrationField[] {
  return FIELDS.filter((field) => {
    // A stored Registration holds both key fields in `keys`.
    const holder = field === 'jwksUri' || field === 'jwks' ? 'keys' : field;
    return declaration[field] !== undefined && !isSameRegistration({ ...stored, [holder]: judged[holder] }, stored);
  }).map((field) => fieldNames[field]);
}

/** A patch with only these fields of the declaration. */
export function patchOf(declaration: Declaration, fields: readonly RegistrationField[]): RegistrationPatch {
  const named = FIELDS.filter((field) => fields.includes(fieldNames[field]));
  return Object.fromEntries(named.map((field) => [field, declaration[field]]));
}

/** Every declared field that a registration request can carry: all but `enabled`. */
export function registrationFields(declaration: Declaration): readonly RegistrationField[] {
  return carriedFields(declaration).filter((field) => field !== fieldNames.enabled);
}
