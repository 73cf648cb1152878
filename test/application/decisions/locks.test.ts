/**
 * The locks of each decision. A lock that is missing lets an exchange outlive a block, a logout or a kill switch that ran
 * beside it, so every one of them is named here.
 */

import { expect } from 'chai';
import { LOCK_ORDER, type Lock } from '../../../application/decisions/lock.ts';
import { openTask } from '../../../application/decisions/open-task.ts';
import { refuse } from '../../../application/decisions/refuse.ts';
import { renewGrant } from '../../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../../application/decisions/revoke-grant.ts';
import { revokeSingleToken } from '../../../application/decisions/revoke-single-token.ts';
import { makeTaskId, makeTokenId } from '../../../domain/identifiers.ts';
import { anAssertion, anEntry, anOpening, aRefusal, aRenewal, together } from '../../contract/scene.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';

const ULID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const agent = anAgent();
const opening = anOpening(agent, { sessionId: 'session-1' });
const { task } = opening;
const { sponsorKey, agentId, taskId } = task;
const assertion = anAssertion(agentId, 'one');
const REVOCATION = { at: NOON, reason: 'client_revoked' } as const;

const written = (locks: readonly Lock[]) => locks.map(({ on, key, mode }) => `${mode} ${on} ${key}`);
const ONE = `exclusive assertion ${agentId} one`;

const CASES: readonly (readonly [title: string, locks: readonly Lock[], expected: readonly string[]])[] = [
  [
    'an exchange shares the person, the subject, the session and the agent, so that their ends wait for it',
    openTask.locks({ ...opening, assertion }),
    [
      `shared sponsor ${sponsorKey}`,
      `shared subject ${task.sponsor}`,
      'shared session session-1',
      `shared agent ${agentId}`,
      ONE,
    ],
  ],
  [
    'an exchange needs no second lock for a person whose sub is the sponsor key',
    openTask.locks({ ...opening, task: { ...task, sponsor: sponsorKey, sessionId: undefined }, assertion }),
    [`shared sponsor ${sponsorKey}`, `shared agent ${agentId}`, ONE],
  ],
  [
    'a delegated exchange shares the row of its parent',
    openTask.locks({ ...opening, task: { ...task, parentTaskId: makeTaskId(ULID) }, assertion }).slice(-1),
    [`shared task ${makeTaskId(ULID)}`],
  ],
  [
    'an exchange with two assertions locks both',
    openTask.locks({ ...opening, assertion: together(assertion, anAssertion(agentId, 'two')) }).slice(-2),
    [ONE, `exclusive assertion ${agentId} two`],
  ],
  [
    'a refresh shares the person and the agent, and holds the row of the grant alone',
    renewGrant.locks(aRenewal(opening, { assertion })),
    [`shared sponsor ${sponsorKey}`, `shared agent ${agentId}`, ONE, `exclusive grant ${opening.grantHash}`],
  ],
  [
    'a refusal shares the person, whose block decides its reason',
    refuse.locks({ entry: aRefusal('scope_widened'), assertion, sponsorKey }),
    [`shared sponsor ${sponsorKey}`, ONE],
  ],
  [
    'a revocation by grant holds the person alone',
    revokeGrant.locks({ ...REVOCATION, taskId, sponsorKey, assertion }),
    [`exclusive sponsor ${sponsorKey}`, ONE],
  ],
  [
    'a revocation of a token holds the token alone',
    revokeSingleToken.locks({
      ...{ ...REVOCATION, tokenId: makeTokenId(ULID), taskId, forgetAt: NOON, assertion },
      entry: anEntry('token.revoked'),
    }),
    [ONE, `exclusive token ${makeTokenId(ULID)}`],
  ],
];

describe('The locks of decisions', () => {
  for (const [title, locks, expected] of CASES) {
    it(`${title}`, () => {
      expect(written(locks)).to.deep.equal(expected);
    });
  }

  it('are of classes that the one order names, each once', () => {
    const classes = CASES.flatMap(([, locks]) => locks.map(({ on }) => on));
    expect(LOCK_ORDER).to.include.members(classes);
    expect(new Set(LOCK_ORDER).size).to.equal(LOCK_ORDER.length);
  });
});
