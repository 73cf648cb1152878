/**
 * The locks of each decision. A lock that is missing lets an exchange outlive a block, a logout or a kill switch that ran
 * beside it, so every one of them is named here.
 */

import { expect } from 'chai';
import { applySecurityEvent } from '../../../application/decisions/apply-security-event.ts';
import { endTasks } from '../../../application/decisions/end-tasks.ts';
import { liftBlock } from '../../../application/decisions/lift-block.ts';
import type { Lock } from '../../../application/decisions/lock.ts';
import { logOut } from '../../../application/decisions/log-out.ts';
import { placeBlock } from '../../../application/decisions/place-block.ts';
import { addAgent, changeAgent, deleteAgent } from '../../../application/decisions/write-agent.ts';
import { addUser, changeUser, deleteUser } from '../../../application/decisions/write-user.ts';
import { makeUserId } from '../../../domain/identifiers.ts';
import { anEntry, anOpening, aRefusal, newSponsorKey } from '../../contract/scene.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';

const ULID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const agent = anAgent();
const opening = anOpening(agent, { sessionId: 'session-1' });
const { task } = opening;
const { sponsorKey, agentId, taskId } = task;
const REVOCATION = { at: NOON, reason: 'client_revoked' } as const;
const signal = { issuer: 'https://idp.example', jti: 'a-jti', forgetAt: NOON, at: NOON };
const user = {
  ...{ userId: makeUserId(ULID), userName: 'Ada', externalId: undefined, sponsorKey, active: true, revision: 1 },
  ...{ createdAt: NOON, modifiedAt: NOON },
};
const effects = { statements: [], at: NOON };
const other = newSponsorKey();

const written = (locks: readonly Lock[]) => locks.map(({ on, key, mode }) => `${mode} ${on} ${key}`);
const SIGNAL = (receiver: string) => `exclusive signal ${JSON.stringify([receiver, signal.issuer, signal.jti])}`;

const CASES: readonly (readonly [title: string, locks: readonly Lock[], expected: readonly string[]])[] = [
  [
    'a kill switch for a task holds its person alone',
    endTasks.locks({ ...REVOCATION, selection: { kind: 'task', taskId, sponsorKey } }),
    [`exclusive sponsor ${sponsorKey}`],
  ],
  [
    'a kill switch for a person holds the person alone',
    endTasks.locks({ ...REVOCATION, selection: { kind: 'sponsor', sponsorKey } }),
    [`exclusive sponsor ${sponsorKey}`],
  ],
  [
    'a kill switch for an agent holds the agent alone',
    endTasks.locks({ ...REVOCATION, selection: { kind: 'agent', agentId } }),
    [`exclusive agent ${agentId}`],
  ],
  [
    'a block holds the person alone',
    placeBlock.locks({
      block: { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON },
      reason: 'sponsor_blocked',
    }),
    [`exclusive sponsor ${sponsorKey}`],
  ],
  [
    'a lift holds the person alone',
    liftBlock.locks({ sponsorKey, source: 'admin', entry: anEntry('sponsor.unblocked'), refusal: aRefusal('x') }),
    [`exclusive sponsor ${sponsorKey}`],
  ],
  [
    'a logout of a session holds the session alone',
    logOut.locks({ ...signal, loggedOut: { kind: 'session', sessionId: 'session-1', subject: 'ada' } }),
    ['exclusive session session-1', SIGNAL('logout')],
  ],
  [
    'a logout of a person holds the person alone, by sponsor key and by sub',
    logOut.locks({ ...signal, loggedOut: { kind: 'person', subject: 'ada' } }),
    ['exclusive sponsor ada', 'exclusive subject ada', SIGNAL('logout')],
  ],
  [
    'a security event holds the person alone, and its own jti',
    applySecurityEvent.locks({
      ...signal,
      action: { sponsorKey, statedAt: NOON, reasons: [], lift: true, block: undefined, end: undefined },
    }),
    [`exclusive sponsor ${sponsorKey}`, SIGNAL('ssf')],
  ],
  [
    'a new user holds the person and all names alone',
    addUser.locks({ ...effects, user, maxUsers: 1 }),
    [`exclusive sponsor ${sponsorKey}`, 'exclusive user_names '],
  ],
  [
    'a change of a user that names another person and takes another name holds both people, the user and all names',
    changeUser.locks({ ...effects, stored: user, user: { ...user, userName: 'Grace', sponsorKey: other } }),
    [
      `exclusive sponsor ${sponsorKey}`,
      `exclusive sponsor ${other}`,
      `exclusive user ${user.userId}`,
      'exclusive user_names ',
    ],
  ],
  [
    'a change of a user that keeps its name in another case takes none',
    changeUser.locks({ ...effects, stored: user, user: { ...user, userName: 'ADA' } }),
    [`exclusive sponsor ${sponsorKey}`, `exclusive user ${user.userId}`],
  ],
  [
    'a removal of a user holds the person and the user alone',
    deleteUser.locks({ ...effects, stored: user }),
    [`exclusive sponsor ${sponsorKey}`, `exclusive user ${user.userId}`],
  ],
  [
    'each write of an agent holds the agent alone, so that no exchange under its old revision commits after it',
    [
      ...addAgent.locks({ agent, entry: anEntry('agent.registered'), refusal: aRefusal('x') }),
      ...changeAgent.locks({ agent, entry: anEntry('agent.updated') }),
      ...deleteAgent.locks({ agentId: agent.agentId, entry: anEntry('agent.deleted'), refusal: aRefusal('x') }),
    ],
    [1, 2, 3].map(() => `exclusive agent ${agent.agentId}`),
  ],
];

describe('The locks of decisions', () => {
  for (const [title, locks, expected] of CASES) {
    it(`${title}`, () => {
      expect(written(locks)).to.deep.equal(expected);
    });
  }
});
