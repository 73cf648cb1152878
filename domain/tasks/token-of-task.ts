/**
 * Whether a token with a valid signature is one that the service issued for its stored task (docs/decisions/0035-introspection-compares-with-the-task.md).
 * Another program may have signed it, if the signing key was disclosed.
 */

import { agentSubject, MAX_INSTANCE_LENGTH } from '../identifiers.ts';
import { toSeconds } from '../instant.ts';
import { formatScope, isWithin, parseScope, type Scope } from '../scope.ts';
import type { Claims } from '../tokens/claims.ts';
import { isJsonObject, type Json, type JsonObject, member, textMember } from '../tokens/strict-json.ts';
import { isBlank } from '../visible.ts';
import { actorChain } from './actor-chain.ts';
import { statusClaim } from './status-list.ts';
import type { Task } from './task.ts';

/** The values of a stored task that its tokens repeat. They do not change while the task is stored. */
export type TaskTerms = Pick<
  Task,
  'taskId' | 'agentId' | 'sponsor' | 'delegatedBy' | 'audience' | 'scope' | 'expiresAt' | 'status'
>;

/** The `task` claim of the tokens of a task (specification "Task token claims"). */
export function taskClaim({ taskId, expiresAt, sponsor }: Pick<Task, 'taskId' | 'expiresAt' | 'sponsor'>): JsonObject {
  return { id: taskId, exp: toSeconds(expiresAt), sponsor };
}

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
  const end = toSeconds(task.expiresAt);
  return (
    member(json, 'sub') === task.sponsor &&
    member(json, 'aud') === task.audience &&
    member(json, 'client_id') === agentSubject(task.agentId) &&
    isActorOf(task, member(json, 'act')) &&
    isTaskOf(task, member(json, 'task')) &&
    expiry !== undefined &&
    expiry <= end &&
    issuedAt !== undefined &&
    isScopeWithin(member(json, 'scope'), task.scope) &&
    isTrueOrAbsent(member(json, 'introspect_required')) &&
    isStatusOf(task, member(json, 'status'), issuer) &&
    Object.keys(json).every((name) => CLAIMS.has(name))
  );
}

/**
 * The agent with those that delegated the task. The agent may have an instance, in the form in which the service copies it from an
 * assertion.
 */
export function isActorOf(task: Pick<TaskTerms, 'agentId' | 'delegatedBy'>, value: Json | undefined): boolean {
  if (!isJsonObject(value)) return false;
  const instance = textMember(value, 'instance');
  const isCopied = instance === undefined || (!isBlank(instance) && instance.length <= MAX_INSTANCE_LENGTH);
  return isCopied && hasExactly(value, actorChain(task, instance));
}

/** The `task` claim. */
export function isTaskOf({ taskId, expiresAt, sponsor }: TaskTerms, value: Json | undefined): boolean {
  return hasExactly(value, taskClaim({ taskId, expiresAt, sponsor }));
}

/** A refresh may narrow the scope. The service names each scope once, with one space between two. */
export function isScopeWithin(value: Json | undefined, granted: Scope): boolean {
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
export function hasExactly(value: Json | undefined, expected: JsonObject): boolean {
  if (!isJsonObject(value)) return false;
  const names = Object.keys(expected);
  return (
    Object.keys(value).length === names.length && names.every((name) => isSame(member(value, name), expected[name]))
  );
}

function isSame(value: Json | undefined, expected: Json | undefined): boolean {
  return isJsonObject(expected) ? hasExactly(value, expected) : value === expected;
}
