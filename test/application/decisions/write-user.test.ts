import { expect } from 'chai';
import { ask } from '../../../application/decisions/fact.ts';
import { addUser, changeUser, deleteUser } from '../../../application/decisions/write-user.ts';
import { makeUserId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import type { ProvisionedUser } from '../../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../../domain/signals/provisioning-statement.ts';
import {
  ADA,
  aStatedBlock,
  endsOf,
  GRACE,
  goneOf,
  liveTasks,
  lockNames,
  NO_TASKS,
  revoked,
  signalRecord,
  TASKS,
} from '../../support/decision-fixtures.ts';

import { NOON } from '../../support/domain-fixtures.ts';

const at = instantFromMicros(NOON + 90_000_007);
const stored: ProvisionedUser = {
  userId: makeUserId('01M31S7W68TMK7WDX8YKPSYTES'),
  userName: 'Ada@Example.org',
  externalId: '00u-ada',
  active: true,
  sponsorKey: ADA,
  revision: 3,
  createdAt: NOON,
  modifiedAt: instantFromMicros(NOON + 3),
};
const inactive = { ...stored, active: false };
const another = makeUserId('01M31S7W68TMK7WDX8YKPSYTEA');
const third = makeUserId('01M31S7W68TMK7WDX8YKPSYTEB');

const [task] = TASKS;
/** One person with one live task, so that a test sees both effects of a refusal: the block and the ended task. */
const people = { others: [{ users: 0, inactive: 0 }], blocks: [[]], live: [liveTasks([task])] };
const refusal = (kind: 'disabled' | 'deleted', reason: 'scim_deactivated' | 'scim_deleted') => [
  { effect: 'put_block', sponsorKey: ADA, source: 'scim', kind, blockedAt: at, statedAt: at },
  ...endsOf(ADA, reason, revoked(at, [task, reason]), signalRecord(ADA, at, reason)),
];
const deactivation = refusal('disabled', 'scim_deactivated');

const ofAda = {
  others: [ask('other_users', { sponsorKey: ADA, except: stored.userId })],
  blocks: [ask('blocks', ADA)],
  live: [ask('live_tasks', { selection: { kind: 'sponsor', sponsorKey: ADA }, at })],
};
const user = `exclusive user ${stored.userId}`;
const allNames = 'exclusive user_names ';

describe('addUser', () => {
  const add = (added: ProvisionedUser, maxUsers = 10) => ({
    user: added,
    maxUsers,
    statements: statementsOf(undefined, added),
    at,
  });

  it('locks the person, and all user names, so that concurrent writes neither share a name nor exceed the maximum', () => {
    expect(lockNames(addUser.locks(add(stored)))).to.deep.equal([`exclusive sponsor ${ADA}`, allNames]);
  });

  it('reads the user with the lower-case name, the number of users, and the person', () => {
    const asked = { named: ask('user_named', 'ada@example.org'), count: ask('user_count', null), ...ofAda };
    expect(addUser.asks(add(inactive))).to.deep.equal({ ...asked, superseded: undefined });
    const superseded = ask('inactive_users', ADA);
    expect(addUser.asks(add(stored))).to.deep.equal({ ...asked, live: [undefined], superseded });
  });

  const supersededOf = (inactive: number) => ({
    others: [{ users: inactive, inactive }],
    blocks: [[aStatedBlock({ source: 'scim', kind: 'disabled' })]],
    live: [undefined],
  });
  const blocked = { blocks: [[aStatedBlock({ source: 'scim', kind: 'disabled' })]], live: [NO_TASKS] };
  for (const [title, added, facts, verdict, effects] of [
    ['creates an active user', stored, {}, 'created', [{ effect: 'insert_user', ...stored }]],
    [
      'creates an inactive user and blocks the person',
      inactive,
      {},
      'created',
      [{ effect: 'insert_user', ...inactive }, ...deactivation],
    ],
    [
      'if the name is taken and the service is full, reports the name, and blocks no one',
      inactive,
      { named: another, count: 10 },
      'uniqueness',
      [],
    ],
    [
      'deletes the inactive users of the person before it judges the name and the maximum, and lifts the block',
      stored,
      { named: another, count: 11, superseded: [another, third], ...supersededOf(2) },
      'created',
      [
        { effect: 'remove_user', userId: another },
        { effect: 'remove_user', userId: third },
        { effect: 'insert_user', ...stored },
        { effect: 'remove_block', sponsorKey: ADA, source: 'scim' },
        { effect: 'append', entries: [signalRecord(ADA, at, 'scim_reactivated')] },
      ],
    ],
    [
      'records the reactivation if no block is there to lift',
      stored,
      { superseded: [another], ...supersededOf(1), blocks: [[]] },
      'created',
      [
        { effect: 'remove_user', userId: another },
        { effect: 'insert_user', ...stored },
        { effect: 'append', entries: [signalRecord(ADA, at, 'scim_reactivated')] },
      ],
    ],
    [
      'deletes no user if a user of another person has the name',
      stored,
      { named: third, superseded: [another], ...supersededOf(1) },
      'uniqueness',
      [],
    ],
    [
      'deletes no user if there is no room even without the inactive ones',
      stored,
      { count: 11, superseded: [another], ...supersededOf(1) },
      'full',
      [],
    ],
    ['refuses an active user at the maximum', stored, { count: 10 }, 'full', []],
    ['refuses an active user over the maximum', stored, { count: 11 }, 'full', []],
    [
      'refuses an inactive user at the maximum, but blocks the person and ends the tasks',
      inactive,
      { count: 10 },
      'full',
      deactivation,
    ],
    [
      'refuses an inactive user at the maximum, and records nothing if the person is blocked already',
      inactive,
      { count: 10, ...blocked },
      'full',
      [goneOf(ADA, 'scim_deactivated')],
    ],
  ] as const) {
    it(title, () => {
      const judgement = addUser.judge(add(added), { named: undefined, count: 9, superseded: [], ...people, ...facts });
      expect(judgement).to.deep.equal({ verdict, effects });
    });
  }
});

describe('changeUser', () => {
  const change = (changes: Partial<ProvisionedUser>) => {
    const changed = { ...stored, revision: 4, modifiedAt: at, ...changes };
    return { stored, user: changed, statements: statementsOf(stored, changed), at };
  };

  it('locks both people and the user, and all user names if the name changes', () => {
    const locks = [`exclusive sponsor ${ADA}`, `exclusive sponsor ${GRACE}`, user, allNames];
    expect(lockNames(changeUser.locks(change({ userName: 'Grace', sponsorKey: GRACE })))).to.deep.equal(locks);
  });

  it('locks one person if the sponsor key stays, and no user names if only letter case changes', () => {
    const locks = [`exclusive sponsor ${ADA}`, user];
    expect(lockNames(changeUser.locks(change({ userName: 'ADA@EXAMPLE.ORG' })))).to.deep.equal(locks);
  });

  it('reads the revision, the person, and the user with the new name if the name changes', () => {
    const revision = ask('user_revision', stored.userId);
    const asked = { revision, named: undefined, ...ofAda };
    expect(changeUser.asks(change({ userName: 'ADA@EXAMPLE.ORG', active: false }))).to.deep.equal(asked);
    const named = ask('user_named', 'grace');
    expect(changeUser.asks(change({ userName: 'Grace', active: false }))).to.deep.equal({ ...asked, named });
  });

  for (const [title, facts, verdict] of [
    ['refuses a user who is gone', { revision: undefined }, 'gone'],
    ['refuses a user who changed since it was read', { revision: 4 }, 'changed'],
    ['refuses a user whose stored revision is older', { revision: 2 }, 'changed'],
    ['reports a change before a taken name', { revision: 4, named: another }, 'changed'],
    ['refuses a name that another user has', { named: another }, 'uniqueness'],
  ] as const) {
    it(`${title}, and writes nothing`, () => {
      const judgement = changeUser.judge(change({ active: false }), {
        revision: 3,
        named: undefined,
        ...people,
        ...facts,
      });
      expect(judgement).to.deep.equal({ verdict, effects: [] });
    });
  }

  for (const named of [undefined, stored.userId]) {
    it(`replaces the user and applies the write to the people if ${named === undefined ? 'no user' : 'this user'} has the name`, () => {
      const input = change({ active: false, externalId: undefined });
      expect(changeUser.judge(input, { revision: 3, named, ...people })).to.deep.equal({
        verdict: 'replaced',
        effects: [{ effect: 'replace_user', ...input.user }, ...deactivation],
      });
    });
  }
});

describe('deleteUser', () => {
  const input = { stored, statements: statementsOf(stored, undefined), at };

  it('locks the person and the user', () => {
    expect(lockNames(deleteUser.locks(input))).to.deep.equal([`exclusive sponsor ${ADA}`, user]);
  });

  it('reads the revision and the person', () => {
    expect(deleteUser.asks(input)).to.deep.equal({ revision: ask('user_revision', stored.userId), ...ofAda });
  });

  for (const [title, revision, verdict, effects] of [
    ['refuses a user who is gone, and writes nothing', undefined, 'gone', []],
    ['refuses a user who changed since it was read, and writes nothing', 4, 'changed', []],
    ['refuses a user whose stored revision is older, and writes nothing', 2, 'changed', []],
    [
      'removes the user and applies the removal to the person',
      3,
      'removed',
      [{ effect: 'remove_user', userId: stored.userId }, ...refusal('deleted', 'scim_deleted')],
    ],
  ] as const) {
    it(title, () => {
      expect(deleteUser.judge(input, { revision, ...people })).to.deep.equal({ verdict, effects });
    });
  }
});
