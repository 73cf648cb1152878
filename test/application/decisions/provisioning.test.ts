import { expect } from 'chai';
import fc from 'fast-check';
import { ask } from '../../../application/decisions/fact.ts';
import {
  applyStatements,
  type People,
  peopleLocks,
  peopleQuestions,
} from '../../../application/decisions/provisioning.ts';
import { addUser, changeUser, deleteUser } from '../../../application/decisions/write-user.ts';
import { makeUserId, type SponsorKey } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import type { ProvisionedUser } from '../../../domain/signals/provisioned-user.ts';
import { type ProvisioningStatement, statementsOf } from '../../../domain/signals/provisioning-statement.ts';
import type { StatedBlock } from '../../../domain/sponsors/block.ts';
import {
  ADA,
  aStatedBlock,
  endsOf,
  GRACE,
  goneOf,
  liveTasks,
  NO_TASKS,
  revoked,
  signalRecord,
  TASKS,
} from '../../support/decision-fixtures.ts';

import { NOON } from '../../support/domain-fixtures.ts';
import { peopleInMemory } from '../../support/people-in-memory.ts';

const at = instantFromMicros(NOON + 90_000_007);
const MARY = 'mary@example.org' as SponsorKey;
const says = (state: ProvisioningStatement['state'], isNew: boolean, sponsorKey = ADA) => ({
  sponsorKey,
  state,
  isNew,
});

/** The facts about one person. By default the person has no other user, no block and no live task. */
function facts(changes: Partial<PersonFacts> = {}): PersonFacts {
  return { others: { users: 0, inactive: 0 }, blocks: [], live: NO_TASKS, ...changes };
}
type PersonFacts = { readonly [Name in keyof People]: People[Name][number] };

function applied(...about: readonly (readonly [ProvisioningStatement, PersonFacts])[]) {
  const statements = about.map(([statement]) => statement);
  const people = about.map(([, person]) => person);
  return applyStatements(
    { statements, at },
    {
      others: people.map(({ others }) => others),
      blocks: people.map(({ blocks }) => blocks),
      live: people.map(({ live }) => live),
    },
  );
}

const [disabled, deleted] = (['disabled', 'deleted'] as const).map((kind) =>
  aStatedBlock({ source: 'scim', kind }),
) as [StatedBlock, StatedBlock];
const others = [aStatedBlock({ source: 'admin', kind: 'disabled' }), aStatedBlock({ source: 'ssf' })];
const put = (block: StatedBlock, kind: StatedBlock['kind']) => ({ effect: 'put_block', ...block, kind });
const placed = (kind: StatedBlock['kind'], sponsorKey = ADA) => ({
  effect: 'put_block',
  sponsorKey,
  source: 'scim',
  kind,
  blockedAt: at,
  statedAt: at,
});
const lifted = { effect: 'remove_block', sponsorKey: ADA, source: 'scim' };
const signalled = (reason: string) => ({ effect: 'append', entries: [signalRecord(ADA, at, reason)] });

const [task, child, foreign, grandchild] = TASKS;

describe('SCIM writes', () => {
  it('lock each person once, exclusively', () => {
    const lock = (key: string) => ({ on: 'sponsor', key, mode: 'exclusive' });
    expect(peopleLocks(ADA, GRACE, ADA)).to.deep.equal([lock(ADA), lock(GRACE)]);
  });

  it('read the other users and blocks of each person, and the live tasks of each inactive one', () => {
    const userId = makeUserId('01M31S7W68TMK7WDX8YKPSYTES');
    const statements = [says('left', true), says('disabled', true, GRACE), says('active', true, MARY)];
    const people = [ADA, GRACE, MARY];
    expect(peopleQuestions(userId, { statements, at })).to.deep.equal({
      others: people.map((sponsorKey) => ask('other_users', { sponsorKey, except: userId })),
      blocks: people.map((sponsorKey) => ask('blocks', sponsorKey)),
      live: [
        ...[ADA, GRACE].map((sponsorKey) => ask('live_tasks', { selection: { kind: 'sponsor', sponsorKey }, at })),
        undefined,
      ],
    });
  });

  for (const [state, reason] of [
    ['disabled', 'scim_deactivated'],
    ['deleted', 'scim_deleted'],
  ] as const) {
    it(`block a person as ${state} and end the tasks after the record of the signal, even beside blocks of other sources`, () => {
      const live = liveTasks([task], [child]);
      const ended = revoked(at, [task, reason], [child, 'parent_revoked']);
      for (const blocks of [[], others]) {
        const effects = [placed(state), ...endsOf(ADA, reason, ended, signalRecord(ADA, at, reason))];
        expect(applied([says(state, true), facts({ blocks, live })])).to.deep.equal(effects);
      }
    });
  }

  const active = { users: 2, inactive: 0 };
  const oneInactive = { users: 2, inactive: 1 };
  const CASES: readonly (readonly [string, ProvisioningStatement, PersonFacts, readonly object[]])[] = [
    [
      'place a missing block for a repeated deactivation, and record it',
      says('disabled', false),
      facts({ blocks: others }),
      [placed('disabled'), goneOf(ADA, 'scim_deactivated'), signalled('scim_deactivated')],
    ],
    [
      'record a new deactivation of a person who is blocked already',
      says('disabled', true),
      facts({ blocks: [...others, disabled] }),
      [goneOf(ADA, 'scim_deactivated'), signalled('scim_deactivated')],
    ],
    [
      'record nothing for a repeated deactivation that changes nothing, and end the authorizations',
      says('disabled', false),
      facts({ blocks: [...others, disabled] }),
      [goneOf(ADA, 'scim_deactivated')],
    ],
    [
      'make a disabled block deleted, and keep its times',
      says('deleted', true),
      facts({ blocks: [disabled] }),
      [put(disabled, 'deleted'), goneOf(ADA, 'scim_deleted'), signalled('scim_deleted')],
    ],
    [
      'make a deleted block disabled, and keep its times',
      says('disabled', false),
      facts({ blocks: [deleted] }),
      [put(deleted, 'disabled'), goneOf(ADA, 'scim_deactivated'), signalled('scim_deactivated')],
    ],
    [
      'lift the block of their own source, and record the reactivation',
      says('active', false),
      facts({ blocks: [...others, deleted], others: active }),
      [lifted, signalled('scim_reactivated')],
    ],
    [
      'record a new reactivation without a block, and lift no block of another source',
      says('active', true),
      facts({ blocks: others }),
      [signalled('scim_reactivated')],
    ],
    [
      'record nothing for a user stated as active again, without a block',
      says('active', false),
      facts({ blocks: others }),
      [],
    ],
    [
      'keep the block while another user of the person is inactive, and record that',
      says('active', true),
      facts({ blocks: [disabled], others: oneInactive }),
      [signalled('scim_still_inactive')],
    ],
    [
      'record nothing for a user stated as active again while another user of the person is inactive',
      says('active', false),
      facts({ blocks: [disabled], others: oneInactive }),
      [],
    ],
    [
      'block a person as deleted whose only user left',
      says('left', true),
      facts(),
      [placed('deleted'), goneOf(ADA, 'scim_deleted'), signalled('scim_deleted')],
    ],
    [
      'block a person as disabled whose user left while another is inactive',
      says('left', true),
      facts({ others: oneInactive }),
      [placed('disabled'), goneOf(ADA, 'scim_deactivated'), signalled('scim_deactivated')],
    ],
    [
      'lift the block of a person whose user left if all others are active',
      says('left', true),
      facts({ blocks: [disabled], others: active }),
      [lifted, signalled('scim_reactivated')],
    ],
    [
      'block a person as disabled whose inactive user left, although another user is active',
      says('left_inactive', true),
      facts({ others: active }),
      [placed('disabled'), goneOf(ADA, 'scim_deactivated'), signalled('scim_deactivated')],
    ],
    [
      'block a person as deleted whose only user left while inactive',
      says('left_inactive', false),
      facts({ blocks: [disabled] }),
      [put(disabled, 'deleted'), goneOf(ADA, 'scim_deleted'), signalled('scim_deleted')],
    ],
  ];
  for (const [title, statement, person, effects] of CASES) {
    it(title, () => {
      expect(applied([statement, person])).to.deep.equal(effects);
    });
  }

  it('end tasks for a repeated deactivation although the block exists, and record the signal again', () => {
    const reason = 'scim_deactivated';
    const person = facts({ blocks: [disabled], live: liveTasks([task], [child]) });
    const ended = revoked(at, [task, reason], [child, 'parent_revoked']);
    const effects = endsOf(ADA, reason, ended, signalRecord(ADA, at, reason));
    expect(applied([says('disabled', false), person])).to.deep.equal(effects);
  });

  it('record no second signal if a repeated deactivation ends delegated tasks only', () => {
    const person = facts({ blocks: [disabled], live: liveTasks([], [child]) });
    const effects = endsOf(ADA, 'scim_deactivated', revoked(at, [child, 'parent_revoked']));
    expect(applied([says('disabled', false), person])).to.deep.equal(effects);
  });

  it('about two people record one person after the other, and end a task of both only once', () => {
    const left = facts({ live: liveTasks([task], [child, foreign]) });
    const joined = facts({ live: liveTasks([child, grandchild], [foreign]) });
    const [leaving, joining] = ['scim_deleted', 'scim_deactivated'] as const;
    expect(applied([says('left_inactive', true), left], [says('disabled', true, GRACE), joined])).to.deep.equal([
      placed('deleted'),
      ...endsOf(
        ADA,
        leaving,
        revoked(at, [task, leaving], [child, 'parent_revoked'], [foreign, 'parent_revoked']),
        signalRecord(ADA, at, leaving),
      ),
      placed('disabled', GRACE),
      ...endsOf(GRACE, joining, revoked(at, [grandchild, joining]), signalRecord(GRACE, at, joining)),
    ]);
  });

  it('end a delegated task of the second person if the first person is not refused', () => {
    const left = facts({ others: active, live: liveTasks([task], [child]) });
    const joined = facts({ live: liveTasks([child]) });
    const reason = 'scim_deactivated';
    expect(applied([says('left', true), left], [says('disabled', false, GRACE), joined])).to.deep.equal([
      placed('disabled', GRACE),
      ...endsOf(GRACE, reason, revoked(at, [child, reason]), signalRecord(GRACE, at, reason)),
    ]);
  });
});

describe('Random SCIM writes', () => {
  it('block each person with an inactive or without a user; an active write unblocks a person whose users are all active', async () => {
    const write = fc.record({
      user: fc.integer({ min: 0, max: 3 }),
      person: fc.constantFrom(ADA, GRACE, MARY),
      to: fc.constantFrom('active', 'inactive', 'gone'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 10 }), async (writes) => {
        const { decisions, blocksOf } = peopleInMemory();
        const stored = new Map<number, ProvisionedUser>();
        for (const { user, person, to } of writes) {
          const before = stored.get(user);
          const after = to === 'gone' ? undefined : aUser(user, before?.revision, person, to === 'active');
          const statements = statementsOf(before, after);
          if (after === undefined) {
            if (before === undefined) continue;
            expect(await decisions.decide(deleteUser, { stored: before, statements, at })).to.equal('removed');
            stored.delete(user);
            expect(blocksOf(before.sponsorKey)).to.containSubset([{ source: 'scim', kind: 'deleted' }]);
          } else {
            const input = { user: after, statements, at };
            if (before === undefined) {
              await decisions.decide(addUser, { ...input, maxUsers: 4 });
              // A create of an active user deletes the person's inactive users.
              for (const [nth, { active, sponsorKey }] of stored) {
                if (after.active && !active && sponsorKey === person) stored.delete(nth);
              }
            } else await decisions.decide(changeUser, { ...input, stored: before });
            stored.set(user, after);
          }
          const users = [...stored.values()];
          for (const one of users) if (!one.active) expect(blocksOf(one.sponsorKey)).to.have.length(1);
          const ofPerson = users.filter(({ sponsorKey }) => sponsorKey === person);
          if (to === 'active' && ofPerson.every(({ active }) => active)) expect(blocksOf(person)).to.deep.equal([]);
          const left = before?.sponsorKey;
          if (left !== undefined && users.every(({ sponsorKey }) => sponsorKey !== left)) {
            expect(blocksOf(left), 'no user names this person any more').to.have.length(1);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

function aUser(nth: number, revision = 0, sponsorKey = ADA, active = true): ProvisionedUser {
  const userId = makeUserId(`01M31S7W68TMK7WDX8YKPSYTE${nth}`);
  const names = { userName: `user-${nth}`, externalId: `00u-${nth}` };
  return { userId, ...names, active, sponsorKey, revision: revision + 1, createdAt: NOON, modifiedAt: at };
}
