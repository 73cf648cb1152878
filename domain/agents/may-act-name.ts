/**
 * The names that the identity provider has for an agent in `may_act` (RFC 8693 §4.4), if they are not the agent's id:
 * the member `may_act_names` of its registration. The provider is Keycloak, for example, whose `sub` is the id of a
 * service account, with the `client_id` beside it.
 */

import { isJsonObject, type Json, member } from '../tokens/strict-json.ts';

/** It has at least one of the two. All members of a registered name must match. */
export interface MayActName {
  readonly sub: string | undefined;
  readonly clientId: string | undefined;
}

/** The maximum length of each member, here and in `may_act`: that of the `sub` of a subject token. */
export const MAX_MAY_ACT_LENGTH = 256;

const MEMBERS = ['sub', 'client_id'];

/** Reads a list of objects with no other members, in a request and in a YAML file. The domain's rules are checked later. */
export function readMayActNames(value: Json | undefined): readonly MayActName[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const names = (value as readonly Json[]).map(readName);
  return names.every((name) => name !== undefined) ? names : undefined;
}

function readName(value: Json): MayActName | undefined {
  if (!isJsonObject(value) || !Object.keys(value).every((name) => MEMBERS.includes(name))) return undefined;
  const [sub, clientId] = [member(value, 'sub'), member(value, 'client_id')];
  return isTextOrAbsent(sub) && isTextOrAbsent(clientId) ? { sub, clientId } : undefined;
}

function isTextOrAbsent(value: Json | undefined): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

/** The name as JSON has it: without a member that it lacks. */
export function presentMayActName({ sub, clientId }: MayActName): {
  readonly sub?: string;
  readonly client_id?: string;
} {
  return { ...(sub !== undefined && { sub }), ...(clientId !== undefined && { client_id: clientId }) };
}

/** Two names are equal if this text is: the same members with the same characters. */
export function mayActNameText(name: MayActName): string {
  return JSON.stringify(presentMayActName(name));
}
