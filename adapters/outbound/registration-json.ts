/** Converts a registration to and from the JSON of the admin API, for its client (specification "Agent registration"). */

import type { AgentKeySource, Registration } from '../../domain/agents/agent.ts';
import { checkJwkSet } from '../../domain/agents/key-set.ts';
import { presentMayActName, readMayActNames } from '../../domain/agents/may-act-name.ts';
import { fieldNames, type RegistrationDraft } from '../../domain/agents/registration-draft.ts';
import { CLEARED, type RegistrationPatch } from '../../domain/agents/registration-patch.ts';
import { formatDuration, parseIsoDuration } from '../../domain/duration.ts';
import { parseAgentId } from '../../domain/identifiers.ts';
import { isTextList, type Json, type JsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';

/** The fields of the patch, under their names in the API. */
export function presentFields(patch: RegistrationPatch): Readonly<Record<string, unknown>> {
  const fields = Object.keys(fieldNames) as readonly (keyof RegistrationDraft)[];
  return Object.fromEntries(
    fields.filter((field) => patch[field] !== undefined).map((field) => [fieldNames[field], presented(patch, field)]),
  );
}

function presented(patch: RegistrationPatch, field: keyof RegistrationDraft): unknown {
  const value = patch[field];
  if (value === CLEARED) return null;
  if (field === 'mayActNames') return patch.mayActNames === CLEARED ? null : patch.mayActNames?.map(presentMayActName);
  const isLifetime = field === 'maxTaskTtl' || field === 'maxTokenTtl';
  return isLifetime && typeof value === 'number' ? formatDuration(value) : value;
}

/** Returns `undefined` if the value is not an agent. Ignores additional fields of a newer release. */
export function readAgent(agent: JsonObject): Registration | undefined {
  const agentId = parseAgentId(text(agent, 'agentId') ?? '');
  const displayName = text(agent, 'displayName');
  const allowedScopes = texts(agent, 'allowedScopes');
  const allowedAudiences = texts(agent, 'allowedAudiences');
  const highRiskAudiences = texts(agent, 'highRiskAudiences');
  const maxTaskTtl = parseIsoDuration(text(agent, 'maxTaskTtl') ?? '');
  const maxTokenTtl = parseIsoDuration(text(agent, 'maxTokenTtl') ?? '');
  const maxDelegationDepth = field(agent, 'maxDelegationDepth');
  const enabled = field(agent, 'enabled');
  const keys = readKeys(agent);
  if (
    agentId === undefined ||
    displayName === undefined ||
    allowedScopes === undefined ||
    allowedAudiences === undefined ||
    highRiskAudiences === undefined ||
    maxTaskTtl === undefined ||
    maxTokenTtl === undefined ||
    typeof maxDelegationDepth !== 'number' ||
    typeof enabled !== 'boolean' ||
    keys === undefined
  ) {
    return undefined;
  }
  return {
    agentId,
    displayName,
    sponsorRequired: true,
    allowedScopes,
    allowedAudiences,
    maxTaskTtl,
    maxTokenTtl,
    maxDelegationDepth,
    highRiskAudiences,
    keys,
    // A server does not send the fields that it does not know.
    mayActNames: readMayActNames(field(agent, 'mayActNames')),
    redirectUris: texts(agent, 'redirectUris'),
    publicClient: field(agent, 'publicClient') === true,
    clientIdDocument: text(agent, 'clientIdDocument'),
    clientNames: texts(agent, 'clientNames'),
    delegatesTo: texts(agent, 'delegatesTo')?.flatMap((id) => parseAgentId(id) ?? []),
    enabled,
  };
}

function readKeys(agent: JsonObject): AgentKeySource | undefined {
  const uri = field(agent, 'jwksUri');
  if (typeof uri === 'string') return { kind: 'remote', uri };
  const jwks = field(agent, 'jwks');
  if (jwks === undefined) return undefined;
  // A client of `/oauth2/authorize` may have no keys. Other settings may hide that it is one.
  if (jwks === null) return { kind: 'none' };
  const verdict = checkJwkSet(jwks);
  // Stored keys may violate newer rules. They become an empty set, so that other keys replace them.
  return { kind: 'inline', jwks: verdict.kind === 'valid' ? verdict.jwks : { keys: [] } };
}

function field(agent: JsonObject, name: keyof typeof fieldNames): Json | undefined {
  return member(agent, fieldNames[name]);
}

function text(agent: JsonObject, name: keyof typeof fieldNames): string | undefined {
  return textMember(agent, fieldNames[name]);
}

function texts(agent: JsonObject, name: keyof typeof fieldNames): readonly string[] | undefined {
  const value = field(agent, name);
  return isTextList(value) ? value : undefined;
}
