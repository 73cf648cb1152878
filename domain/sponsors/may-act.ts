/**
 * `may_act` of a subject token (RFC 8693 §4.4): the identity provider says which actor may act for the person. It only
 * restricts: every other check stays. `Service:UpstreamIdp:MayAct` says whether the service heeds it.
 */

import type { Registration } from '../agents/agent.ts';
import { MAX_MAY_ACT_LENGTH, type MayActName } from '../agents/may-act-name.ts';
import type { DenialReason } from '../denial.ts';
import { agentSubject, namesAgent } from '../identifiers.ts';
import type { Claims } from '../tokens/claims.ts';
import { isJsonObject, type Json, member } from '../tokens/strict-json.ts';

/** `honour` heeds the claim if the token has it; `require` also refuses a token without it. */
export type MayActMode = 'ignore' | 'honour' | 'require';

/** The actor that the claim names. */
export interface MayAct extends MayActName {
  /** Of any type: only a text can be an issuer's. */
  readonly issuer: Json | undefined;
}

type MayActReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'read'; readonly mayAct: MayAct };

/** Reads the claim. A null member is an absent one (supplement "Subject tokens"). Ignores members with other names. */
export function readMayAct({ json }: Pick<Claims, 'json'>): MayActReading {
  const claim = member(json, 'may_act') ?? undefined;
  if (claim === undefined) return { kind: 'absent' };
  if (!isJsonObject(claim)) return { kind: 'malformed' };
  const [sub, clientId] = [member(claim, 'sub') ?? undefined, member(claim, 'client_id') ?? undefined];
  if (!isNameOrAbsent(sub) || !isNameOrAbsent(clientId)) return { kind: 'malformed' };
  if (sub === undefined && clientId === undefined) return { kind: 'malformed' };
  return { kind: 'read', mayAct: { sub, clientId, issuer: member(claim, 'iss') ?? undefined } };
}

function isNameOrAbsent(value: Json | undefined): value is string | undefined {
  return value === undefined || (typeof value === 'string' && value.length >= 1 && value.length <= MAX_MAY_ACT_LENGTH);
}

/** @param issuers those whose actors can be agents of this service */
function namesThisAgent(
  { sub, clientId, issuer }: MayAct,
  { agentId, mayActNames = [] }: Pick<Registration, 'agentId' | 'mayActNames'>,
  issuers: readonly (string | undefined)[],
): boolean {
  if (issuer !== undefined && !issuers.some((known) => known === issuer)) return false;
  // A `sub` with our prefix names one agent, and the other members are not compared (supplement "Subject tokens").
  if (sub !== undefined && namesAgent(sub)) return sub === agentSubject(agentId);
  if (sub === agentId) return true;
  return mayActNames.some(
    (name) =>
      (name.sub === undefined || name.sub === sub) && (name.clientId === undefined || name.clientId === clientId),
  );
}

type MayActReason = Extract<DenialReason, 'subject_malformed' | 'actor_not_named'>;

/**
 * Why the agent may not act for the token's person; `undefined` if the claim does not refuse it.
 *
 * @param claims of a token that was verified. Its `iss` is the provider's too: access tokens may have their own (AD FS)
 * @param issuers the identity provider's and this service's
 */
export function judgeMayAct(
  mode: MayActMode,
  claims: Pick<Claims, 'json' | 'issuer'>,
  agent: Pick<Registration, 'agentId' | 'mayActNames'>,
  issuers: readonly string[],
): MayActReason | undefined {
  if (mode === 'ignore') return undefined;
  const reading = readMayAct(claims);
  switch (reading.kind) {
    case 'malformed':
      return 'subject_malformed';
    case 'absent':
      return mode === 'require' ? 'actor_not_named' : undefined;
    case 'read':
      return namesThisAgent(reading.mayAct, agent, [...issuers, claims.issuer]) ? undefined : 'actor_not_named';
  }
}
