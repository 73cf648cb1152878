/**
 * A change to a registration (specification "Admin API", PATCH; supplement "Agents"): the sent fields replace those of
 * the stored registration. The result is a draft, and is checked as a whole.
 */

import type { Agent, Registration } from './agent.ts';
import { fieldNames, type RegistrationDraft, type RegistrationField } from './registration-draft.ts';

/** An optional field that was sent as null. A cleared lifetime returns to its default. */
export const CLEARED = Symbol('cleared');
type Clearable<Value> = Value | typeof CLEARED;

/** The fields that were sent. Those that a draft may lack can be cleared. */
export type RegistrationPatch = {
  readonly [Field in keyof RegistrationDraft]?:
    | RegistrationDraft[Field]
    | (undefined extends RegistrationDraft[Field] ? typeof CLEARED : undefined);
};

/** The fields that were sent, in the order of the specification's table. */
export function carriedFields(patch: RegistrationPatch): readonly RegistrationField[] {
  const fields = Object.keys(fieldNames) as readonly (keyof RegistrationDraft)[];
  return fields.filter((field) => patch[field] !== undefined).map((field) => fieldNames[field]);
}

/**
 * Whether the patch disables the agent and does nothing else. Such a patch grants nothing, so the registration is not
 * checked: an operator can disable an agent even if newer settings make its registration invalid.
 */
export function onlyDisables(patch: RegistrationPatch): boolean {
  return patch.enabled === false && carriedFields(patch).every((field) => field === 'enabled' || field === 'agent_id');
}

export function mergePatch(agent: Agent, patch: RegistrationPatch): RegistrationDraft {
  return {
    agentId: patch.agentId ?? agent.agentId,
    displayName: patch.displayName ?? agent.displayName,
    sponsorRequired: patch.sponsorRequired ?? agent.sponsorRequired,
    allowedScopes: patch.allowedScopes ?? agent.allowedScopes,
    allowedAudiences: patch.allowedAudiences ?? agent.allowedAudiences,
    maxTaskTtl: merged(patch.maxTaskTtl, agent.maxTaskTtl),
    maxTokenTtl: merged(patch.maxTokenTtl, agent.maxTokenTtl),
    maxDelegationDepth: patch.maxDelegationDepth ?? agent.maxDelegationDepth,
    highRiskAudiences: patch.highRiskAudiences ?? agent.highRiskAudiences,
    ...mergedKeys(agent, patch),
    mayActNames: merged(patch.mayActNames, agent.mayActNames),
    redirectUris: merged(patch.redirectUris, agent.redirectUris),
    publicClient: patch.publicClient ?? agent.publicClient,
    clientIdDocument: merged(patch.clientIdDocument, agent.clientIdDocument),
    clientNames: merged(patch.clientNames, agent.clientNames),
    delegatesTo: merged(patch.delegatesTo, agent.delegatesTo),
    enabled: patch.enabled ?? agent.enabled,
  };
}

function merged<Value extends number | string | object>(
  sent: Clearable<Value> | undefined,
  stored: Value | undefined,
): Value | undefined {
  if (sent === CLEARED) return undefined;
  return sent === undefined ? stored : sent;
}

/** A sent key source replaces the stored one. If the patch sends both kinds, the draft has both, and is refused. */
function mergedKeys({ keys }: Registration, patch: RegistrationPatch): Pick<RegistrationDraft, 'jwksUri' | 'jwks'> {
  const storedUri = keys.kind === 'remote' && !isSet(patch.jwks) ? keys.uri : undefined;
  const storedKeys =
    keys.kind === 'inline' && !isSet(patch.jwksUri) ? keys.jwks.keys.map((key) => ({ ...key })) : undefined;
  const storedJwks = storedKeys === undefined ? undefined : { keys: storedKeys };
  return { jwksUri: merged(patch.jwksUri, storedUri), jwks: merged(patch.jwks, storedJwks) };
}

function isSet(sent: unknown): boolean {
  return sent !== undefined && sent !== CLEARED;
}
