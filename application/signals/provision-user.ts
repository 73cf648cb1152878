/**
 * The writes of a provisioned user (specification "/scim/v2"; supplement "SCIM"). Each write is computed from the stored
 * user. It and its effects on people are applied only if the user has not changed since it was read.
 */

import { makeUserId, type UserId } from '../../domain/identifiers.ts';
import {
  applied,
  isSameUser,
  judgeUser,
  NEW_USER,
  type ProvisionedUser,
  replacedUser,
  type UserDraft,
} from '../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { PersonAttribute, ScimFault } from '../../domain/signals/user-attribute.ts';
import type { UserFilter } from '../../domain/signals/user-filter.ts';
import { readUserPatch } from '../../domain/signals/user-patch.ts';
import { type Assignments, readUserResource } from '../../domain/signals/user-resource.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import { userExists } from '../decisions/find.ts';
import { addUser, changeUser, deleteUser } from '../decisions/write-user.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Randomness, SharedTime } from '../ports/runtime.ts';
import type { ProvisionedUsers, UsersPage } from '../ports/users.ts';

export interface Provisioning {
  readonly decisions: Decisions;
  readonly users: Pick<ProvisionedUsers, 'find'>;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
  readonly randomness: Pick<Randomness, 'ulid'>;
  /** `Service:Scim:SponsorKeyAttribute`. */
  readonly person: PersonAttribute;
  /** `Service:Scim:MaxUsers`. */
  readonly maxUsers: number;
}

/** Why a write was not applied. */
export type WriteRefusal =
  | ScimFault
  /** Another user has the name. */
  | { readonly kind: 'uniqueness' }
  | { readonly kind: 'full' }
  | { readonly kind: 'not_found' }
  /** Every attempt met a concurrent change of the user. */
  | { readonly kind: 'kept_changing' };

export type WriteOutcome = { readonly kind: 'written'; readonly user: ProvisionedUser } | WriteRefusal;

/** Specification "/scim/v2": a write gives up after three attempts. */
const MAX_ATTEMPTS = 3;

export async function createUser(service: Provisioning, body: JsonObject): Promise<WriteOutcome> {
  // 1. Read the stored attributes, and the person they name.
  const read = readUserResource(body, service.person);
  if (read.kind === 'invalid') return read;
  const judged = judgeUser(applied(NEW_USER, read.assignments), service.person);
  if (judged.kind === 'invalid') return judged;

  // 2. Store the user, if its name is free and there is room, and apply its statement about the person.
  const at = await service.sharedTime.earliest();
  const userId = makeUserId(service.randomness.ulid());
  const user: ProvisionedUser = { userId, ...judged.fields, revision: 1, createdAt: at, modifiedAt: at };
  const statements = statementsOf(undefined, user);
  const stored = await service.decisions.decide(addUser, { user, statements, at, maxUsers: service.maxUsers });
  return stored === 'created' ? { kind: 'written', user } : { kind: stored };
}

export async function replaceUser(service: Provisioning, userId: UserId, body: JsonObject): Promise<WriteOutcome> {
  return change(service, userId, readUserResource(body, service.person), (stored) =>
    // Specification "/scim/v2": a replace must name a person, so the stored sponsor key is no fallback.
    ({ draft: replacedUser(stored, service.person), known: undefined }),
  );
}

export async function patchUser(service: Provisioning, userId: UserId, body: JsonObject): Promise<WriteOutcome> {
  return change(service, userId, readUserPatch(body, service.person), (stored) => ({
    draft: stored,
    known: stored,
  }));
}

/** @param start the user before the assignments are applied */
async function change(
  service: Provisioning,
  userId: UserId,
  read: Assignments,
  start: (stored: ProvisionedUser) => { readonly draft: UserDraft; readonly known: ProvisionedUser | undefined },
): Promise<WriteOutcome> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    // 1. Read the stored user.
    const stored = await service.users.find(userId);
    if (stored === undefined) {
      if (await isOnlyUnread(service, userId)) continue;
      return { kind: 'not_found' };
    }
    if (read.kind === 'invalid') return read;

    // 2. Apply the assignments, and check the result as a whole.
    const { draft, known } = start(stored);
    const judged = judgeUser(applied(draft, read.assignments), service.person, known);
    if (judged.kind === 'invalid') return judged;

    // 3. Store it, if the user has not changed since it was read. Equal values are written too: the person's block may
    // have changed since, and the write corrects it.
    const at = await service.sharedTime.earliest();
    const user = isSameUser(judged.fields, stored)
      ? stored
      : { ...stored, ...judged.fields, revision: stored.revision + 1, modifiedAt: at };
    const statements = statementsOf(stored, user);
    const outcome = await service.decisions.decide(changeUser, { stored, user, statements, at });
    if (outcome === 'replaced') return { kind: 'written', user };
    if (outcome === 'gone') return { kind: 'not_found' };
    if (outcome === 'uniqueness') return { kind: outcome };
  }
  return { kind: 'kept_changing' };
}

export async function removeUser(
  service: Pick<Provisioning, 'decisions' | 'users' | 'sharedTime'>,
  userId: UserId,
): Promise<'removed' | 'not_found' | 'kept_changing'> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const stored = await service.users.find(userId);
    if (stored === undefined) {
      if (await isOnlyUnread(service, userId)) continue;
      return 'not_found';
    }
    const statements = statementsOf(stored, undefined);
    const at = await service.sharedTime.earliest();
    const outcome = await service.decisions.decide(deleteUser, { stored, statements, at });
    if (outcome === 'removed') return outcome;
    if (outcome === 'gone') return 'not_found';
  }
  return 'kept_changing';
}

/** Whether the decisions know a user whom the read did not find: it may have asked another server. */
function isOnlyUnread({ decisions }: Pick<Provisioning, 'decisions'>, userId: UserId): Promise<boolean> {
  return decisions.decide(userExists, { userId });
}

export interface UsersListing {
  readonly filter: UserFilter | undefined;
  /** Counted from 1. */
  readonly startIndex: number;
  readonly count: number;
}

/** Finds provisioned users (specification "/scim/v2"; RFC 7644 §3.4.2.4). */
export async function listUsers(
  { users }: { readonly users: Pick<ProvisionedUsers, 'list'> },
  { filter, startIndex, count }: UsersListing,
): Promise<UsersPage> {
  if (filter?.kind === 'no_match') return { users: [], total: 0 };
  const match = filter && { attribute: filter.attribute, value: filter.value };
  return users.list({ match, skip: startIndex - 1, limit: count });
}
