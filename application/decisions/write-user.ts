/** Adds, changes and deletes provisioned users, and applies the writes' effects on people (specification "/scim/v2"). */

import { type ProvisionedUser, userNameKey } from '../../domain/signals/provisioned-user.ts';
import { statementsWithoutRoom, superseding } from '../../domain/signals/provisioning-statement.ts';
import { decision, type Judgement } from './decision.ts';
import { ask } from './fact.ts';
import { exclusive, type Lock } from './lock.ts';
import { applyStatements, type ProvisioningEffects, peopleLocks, peopleQuestions } from './provisioning.ts';

/** Held by every write that takes a new user name: each addition, and each rename. */
const ALL_NAMES: Lock = exclusive('user_names', '');

interface UserAddition extends ProvisioningEffects {
  readonly user: ProvisionedUser;
  readonly maxUsers: number;
}

/**
 * `uniqueness`: another user has the name. `full`: there are `maxUsers` already. An inactive user's person is blocked
 * even then (`statementsWithoutRoom`).
 */
type AddUserVerdict = 'created' | 'uniqueness' | 'full';

export const addUser = decision({
  name: 'add_user',
  transaction: 'provider',
  // The person's lock includes the person's users: each write of one of them takes it.
  locks: ({ user }: UserAddition) => [...peopleLocks(user.sponsorKey), ALL_NAMES],
  asks: ({ user, ...effects }) => ({
    named: ask('user_named', userNameKey(user.userName)),
    count: ask('user_count', null),
    superseded: user.active ? ask('inactive_users', user.sponsorKey) : undefined,
    ...peopleQuestions(user.userId, effects),
  }),

  judge: (
    { user, maxUsers, statements, at },
    { named, count, superseded = [], ...people },
  ): Judgement<AddUserVerdict> => {
    // A superseded user does not count: it keeps neither its name nor its place.
    if (named !== undefined && !superseded.includes(named)) return { verdict: 'uniqueness', effects: [] };
    if (count - superseded.length >= maxUsers) {
      // A create makes one statement, so a remaining statement is still about the first person.
      const effective = { statements: statementsWithoutRoom(statements), at };
      return { verdict: 'full', effects: applyStatements(effective, people) };
    }
    const created = { effect: 'insert_user', ...user } as const;
    if (superseded.length === 0) {
      return { verdict: 'created', effects: [created, ...applyStatements({ statements, at }, people)] };
    }
    const others = people.others.map(({ users }) => ({ users: users - superseded.length, inactive: 0 }));
    return {
      verdict: 'created',
      effects: [
        ...superseded.map((userId) => ({ effect: 'remove_user', userId }) as const),
        created,
        ...applyStatements({ statements: superseding(statements), at }, { ...people, others }),
      ],
    };
  },
});

interface UserChange extends ProvisioningEffects {
  /** The user as the caller read it. */
  readonly stored: ProvisionedUser;
  readonly user: ProvisionedUser;
}

/** Compare-and-swap. `changed`: the stored revision is another. `gone`: the user does not exist any more. */
type ChangeUserVerdict = 'replaced' | 'uniqueness' | 'changed' | 'gone';

export const changeUser = decision({
  name: 'change_user',
  transaction: 'provider',

  locks: ({ stored, user }: UserChange) => [
    ...peopleLocks(stored.sponsorKey, user.sponsorKey),
    exclusive('user', stored.userId),
    ...(takesName({ stored, user }) ? [ALL_NAMES] : []),
  ],

  asks: ({ stored, user, ...effects }) => ({
    revision: ask('user_revision', stored.userId),
    named: takesName({ stored, user }) ? ask('user_named', userNameKey(user.userName)) : undefined,
    ...peopleQuestions(user.userId, effects),
  }),

  judge: ({ stored, user, ...effects }, { revision, named, ...people }): Judgement<ChangeUserVerdict> => {
    if (revision === undefined) return { verdict: 'gone', effects: [] };
    if (revision !== stored.revision) return { verdict: 'changed', effects: [] };
    if (named !== undefined && named !== user.userId) return { verdict: 'uniqueness', effects: [] };
    return {
      verdict: 'replaced',
      effects: [{ effect: 'replace_user', ...user }, ...applyStatements(effects, people)],
    };
  },
});

function takesName({ stored, user }: Pick<UserChange, 'stored' | 'user'>): boolean {
  return userNameKey(stored.userName) !== userNameKey(user.userName);
}

interface UserDeletion extends ProvisioningEffects {
  /** The user as the caller read it. */
  readonly stored: ProvisionedUser;
}

/** Compare-and-swap, as `ChangeUserVerdict`. */
type DeleteUserVerdict = 'removed' | 'changed' | 'gone';

export const deleteUser = decision({
  name: 'delete_user',
  transaction: 'provider',
  locks: ({ stored }: UserDeletion) => [...peopleLocks(stored.sponsorKey), exclusive('user', stored.userId)],
  asks: ({ stored, ...effects }) => ({
    revision: ask('user_revision', stored.userId),
    ...peopleQuestions(stored.userId, effects),
  }),

  judge: ({ stored, ...effects }, { revision, ...people }): Judgement<DeleteUserVerdict> => {
    if (revision === undefined) return { verdict: 'gone', effects: [] };
    if (revision !== stored.revision) return { verdict: 'changed', effects: [] };
    return {
      verdict: 'removed',
      effects: [{ effect: 'remove_user', userId: stored.userId }, ...applyStatements(effects, people)],
    };
  },
});
