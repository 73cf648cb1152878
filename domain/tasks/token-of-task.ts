/**
 * Whether a token with a valid signature is one that the service issued for its stored task (docs/decisions/0035-introspection-compares-with-the-task.md).
 * Another program may have signed it, if the signing key was disclosed.
 */

import { agentSubject, MAX_INSTANCE_LENGTH } from '../identifiers.ts';
import { toSeconds } from '../instant.ts';
import { formatScope, isWithin, parseScope, type Scope } from '../scope.ts';
import type { Claims } from '../tokens/claims.ts';
import { isJsonObject, type Json, type JsonObject, member } from '../tokens/strict-json.ts';
import { isBlank } from '../visible.ts';
import { statusClaim } from './status-list.ts';
import type { Task } from './task.ts';

/** The values of a stored task that its tokens repeat. They do not change while the task is stored. */
export type TaskTerms = Pick<
  Task,
  'taskId' | 'agentId' | 'sponsor' | 'audience' | 'scope' | 'delegationDepth' | 'expiresAt' | 'status'
>;

/** The service writes these claims, and no `nbf`: that one can only restrict a token. */
const CLAIMS: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'scope',
  'client_id',
  'act',
  'task',
  'introspect_required',
  'status',
]);

/**
 * Compares every claim with the task, in the form in which the service writes it. No claim may say more than the task. The
 * caller has compared `iss` and read `jti`.
 *
 * These differ between the tokens of a task, and are checked only for their form: `iat`; `act.instance`, which the agent chose
 * for one token; `introspect_required`, whose audiences an operator may change; `status`, which is absent if there were no
 * status lists.
 */
export function isTokenOf(task: TaskTerms, { json, expiry, issuedAt }: Claims, issuer: string): boolean {
  const actor = agentSubject(task.agentId);
  const end = toSeconds(task.expiresAt);
  return (
    member(json, 'sub') === task.sponsor &&
    member(json, 'aud') === task.audience &&
    member(json, 'client_id') === actor &&
    isActor(member(json, 'act'), { sub: actor, depth: task.delegationDepth }) &&
    hasExactly(member(json, 'task'), { id: task.taskId, exp: end, sponsor: task.sponsor }) &&
    expiry !== undefined &&
    expiry <= end &&
    issuedAt !== undefined &&
    isScopeWithin(member(json, 'scope'), task.scope) &&
    isTrueOrAbsent(member(json, 'introspect_required')) &&
    isStatusOf(task, member(json, 'status'), issuer) &&
    Object.keys(json).every((name) => CLAIMS.has(name))
  );
}

/** The agent, and maybe an instance in the form in which the service copies it from an assertion. */
function isActor(value: Json | undefined, expected: JsonObject): boolean {
  if (!isJsonObject(value)) return false;
  const instance = member(value, 'instance');
  if (instance === undefined) return hasExactly(value, expected);
  const isCopied = typeof instance === 'string' && !isBlank(instance) && instance.length <= MAX_INSTANCE_LENGTH;
  return isCopied && hasExactly(value, { ...expected, instance });
}

/** A refresh may narrow the scope. The service names each scope once, with one space between two. */
function isScopeWithin(value: Json | undefined, granted: Scope): boolean {
  if (value === formatScope(granted)) return true;
  if (typeof value !== 'string' || value === '') return false;
  const scope = parseScope(value);
  return scope !== undefined && formatScope(scope) === value && isWithin(scope, granted);
}

function isTrueOrAbsent(value: Json | undefined): boolean {
  return value === undefined || value === true;
}

function isStatusOf({ status }: TaskTerms, value: Json | undefined, issuer: string): boolean {
  if (value === undefined) return true;
  return status !== undefined && isSame(value, statusClaim(issuer, status));
}

/** Whether the value is an object with these members and no other. */
function hasExactly(value: Json | undefined, expected: JsonObject): boolean {
  if (!isJsonObject(value)) return false;
  const names = Object.keys(expected);
  return (
    Object.keys(value).length === names.length && names.every((name) => isSame(member(value, name), expected[name]))
  );
}

function isSame(value: Json | undefined, expected: Json | undefined): boolean {
  return isJsonObject(expected) ? hasExactly(value, expected) : value === expected;
}
