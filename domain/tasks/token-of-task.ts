/**
 * Whether a token with a valid signature is one that the service issued for its stored task (docs/decisions/0035-introspection-compares-with-the-task.md).
 * Another program may have signed it, if the signing key was disclosed.
 */

import { type AgentId, agentSubject, MAX_INSTANCE_LENGTH } from '../identifiers.ts';
import { type Instant, toSeconds } from '../instant.ts';
import { formatScope, isWithin, parseScope } from '../scope.ts';
import type { Claims } from '../tokens/claims.ts';
import { isJsonObject, type Json, type JsonObject, member } from '../tokens/strict-json.ts';
import { statusClaim } from './status-list.ts';

/**
 * The values of a stored task that its tokens repeat, as lines: agent, person, audience, depth, scope, and the status list with the
 * index, if there is one. No value has a line end. One text costs an introspection far less than seven columns.
 */
export type TaskTerms = string;

/** A stored task. Its values do not change while it is stored. */
export interface TermedTask {
  readonly terms: TaskTerms;
  readonly expiresAt: Instant;
}

/** The claims of every token: `iss` and `jti`, and those that `isTokenOf` compares. */
const WRITTEN_ALWAYS = 10;
/** The service writes no `nbf`, but heeds one: it only restricts a token. */
const OPTIONAL = ['introspect_required', 'status', 'nbf'] as const;

/**
 * Compares every claim with the task, in the form in which the service writes it: no claim may say more than the task. The
 * caller has compared `iss`, read `jti`, and found the task by `task.id`. Part of every introspection, so it makes few objects.
 *
 * These differ between the tokens of a task, and are checked only for their form: `iat`; `act.instance`, which the agent chose
 * for one token; `introspect_required`, whose audiences an operator may change; `status`, which is absent if there were no
 * status lists.
 */
export function isTokenOf(
  { terms, expiresAt }: TermedTask,
  { json, expiry, issuedAt }: Claims,
  issuer: string,
): boolean {
  const [agentId, sponsor, audience, depth, scope = '', listId, index] = terms.split('\n');
  const actor = agentSubject(agentId as AgentId);
  const end = toSeconds(expiresAt);
  return (
    member(json, 'sub') === sponsor &&
    member(json, 'aud') === audience &&
    member(json, 'client_id') === actor &&
    isActor(member(json, 'act'), actor, Number(depth)) &&
    isReference(member(json, 'task'), sponsor, end) &&
    expiry !== undefined &&
    expiry <= end &&
    issuedAt !== undefined &&
    isScopeWithin(member(json, 'scope'), scope) &&
    isTrueOrAbsent(member(json, 'introspect_required')) &&
    isStatusOf(listId, index, member(json, 'status'), issuer) &&
    hasOnlyWritten(json)
  );
}

/** Each claim that is always written is there: so a number of members shows whether there is another one. */
function hasOnlyWritten(json: JsonObject): boolean {
  let most = WRITTEN_ALWAYS;
  for (const name of OPTIONAL) if (Object.hasOwn(json, name)) most += 1;
  return Object.keys(json).length === most;
}

/** The agent, and maybe an instance in the form in which the service copies it from an assertion. */
function isActor(value: Json | undefined, actor: string, depth: number): boolean {
  if (!isJsonObject(value) || member(value, 'sub') !== actor || member(value, 'depth') !== depth) return false;
  const instance = member(value, 'instance');
  if (instance === undefined) return Object.keys(value).length === 2;
  const isCopied = typeof instance === 'string' && instance.trim() !== '' && instance.length <= MAX_INSTANCE_LENGTH;
  return isCopied && Object.keys(value).length === 3;
}

/** The caller has read its `id`, which is the third member. */
function isReference(value: Json | undefined, sponsor: string | undefined, end: number): boolean {
  if (!isJsonObject(value) || Object.keys(value).length !== 3) return false;
  return member(value, 'exp') === end && member(value, 'sponsor') === sponsor;
}

/** A refresh may narrow the scope. The service names each scope once, with one space between two. */
function isScopeWithin(value: Json | undefined, granted: string): boolean {
  if (value === granted) return true;
  if (typeof value !== 'string' || value === '') return false;
  const scope = parseScope(value);
  return scope !== undefined && formatScope(scope) === value && isWithin(scope, granted.split(' '));
}

function isTrueOrAbsent(value: Json | undefined): boolean {
  return value === undefined || value === true;
}

function isStatusOf(
  listId: string | undefined,
  index: string | undefined,
  value: Json | undefined,
  issuer: string,
): boolean {
  if (value === undefined) return true;
  if (listId === undefined || index === undefined) return false;
  // The members in the order in which the service writes them.
  return JSON.stringify(value) === JSON.stringify(statusClaim(issuer, { listId, index: Number(index) }));
}
