import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import type { LiveTasks } from '../../../application/decisions/fact.ts';
import { type GrantRevocation, revokeGrant } from '../../../application/decisions/revoke-grant.ts';
import { makeTaskId, type TaskId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import type { RevocationReason } from '../../../domain/tasks/task.ts';
import { anAssertion, newSponsorKey, withClientAssertion } from '../../contract/storage-fixtures.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const agentId = agentIdOf('jira-triage');
const AT = instantFromMicros(NOON + 77_000_001);
const [taskId, child, grandchild] = ['S', 'C', 'A'].map((last) => makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${last}`)) as [
  TaskId,
  TaskId,
  TaskId,
];
const revocation: GrantRevocation = {
  at: AT,
  reason: 'client_revoked',
  taskId,
  sponsorKey: newSponsorKey(),
  assertion: withClientAssertion(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON }),
};
const { sponsorKey, assertion } = revocation;

const task = { state: 'live', expiresAt: instantFromMicros(AT + 1) };
const live = (taskIds: readonly TaskId[], ...delegated: readonly TaskId[]): LiveTasks => ({
  taskIds,
  delegated: new Set(delegated),
  sponsors: ['ada'],
});
const clear = { spent: [false, false], task, live: live([taskId]) };
const SPENT = [
  { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: assertion?.forgetAt },
  { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON },
];

/** The effects: the changed rows, and the records in the order of the tasks. */
function endings(...ends: readonly (readonly [TaskId, RevocationReason])[]) {
  const tasks = ends.map(([taskId, reason]) => ({
    taskId,
    end: { state: 'revoked', record: { event: 'task.revoked', reason } },
  }));
  // The record of the end of a task follows the summary of its renewals.
  const ended = { tasks, at: AT, renewalsEvent: 'token.refreshed', withdrawnEvent: 'approval.withdrawn' };
  return [
    { effect: 'end_tasks', ...ended },
    { effect: 'append', entries: [], ended },
  ];
}

describe('Revoking a task by its grant', () => {
  it('ends and records the task', () => {
    expect(revokeGrant.judge(revocation, clear)).to.deep.equal({
      verdict: 'revoked',
      effects: [...SPENT, ...endings([taskId, 'client_revoked'])],
    });
  });

  it('revokes the delegated tasks with the reason parent_revoked, in the order of the facts', () => {
    const facts = { ...clear, live: live([taskId, child, grandchild], child, grandchild) };
    expect(revokeGrant.judge(revocation, facts)).to.deep.equal({
      verdict: 'revoked',
      effects: [
        ...SPENT,
        ...endings([taskId, 'client_revoked'], [child, 'parent_revoked'], [grandchild, 'parent_revoked']),
      ],
    });
  });

  for (const [title, facts] of [
    ['is gone', { task: undefined, live: live([]) }],
    ['was revoked before', { task: { ...task, state: 'revoked' }, live: live([]) }],
    ['has a recorded expiry', { task: { ...task, state: 'expired' }, live: live([]) }],
    [
      'has a recorded expiry, while a task delegated from it is live',
      { task: { ...task, state: 'expired' }, live: live([child], child) },
    ],
    ['has passed its expiry, which the sweeper will record', { task: { ...task, expiresAt: AT }, live: live([]) }],
  ] as const) {
    it(`only marks the assertions as used if the task ${title}`, () => {
      expect(revokeGrant.judge(revocation, { ...clear, ...facts })).to.deep.equal({
        verdict: 'already_ended',
        effects: SPENT,
      });
    });
  }

  it('ends the tasks delegated from an expired task, and leaves the expired task to the sweeper', () => {
    // The specification says under "POST /oauth2/revoke" that a grant revokes everything delegated from its task, and
    // under "Task" that an expiry is never recorded as a revocation.
    const facts = { task: { ...task, expiresAt: AT }, live: live([child], child) };
    expect(revokeGrant.judge(revocation, { ...clear, ...facts })).to.deep.equal({
      verdict: 'revoked',
      effects: [...SPENT, ...endings([child, 'parent_revoked'])],
    });
  });

  for (const spent of [
    [true, false],
    [false, true],
  ]) {
    it(`writes nothing if ${spent[0] ? 'the assertion' : 'the client assertion'} has been used before`, () => {
      expect(revokeGrant.judge(revocation, { ...clear, spent })).to.deep.equal({ verdict: 'replayed', effects: [] });
    });
  }

  it('reads the assertions, the task and the live tasks delegated from it', () => {
    expect(revokeGrant.asks(revocation)).to.deep.equal({
      spent: assertionQuestions(revocation.assertion),
      task: { fact: 'task_state', about: taskId },
      live: { fact: 'live_tasks', about: { selection: { kind: 'task', taskId }, at: AT } },
    });
  });

  it('locks the person, its assertions and the task exclusively', () => {
    expect(lockNames(revokeGrant.locks(revocation))).to.deep.equal([
      `exclusive sponsor ${sponsorKey}`,
      `exclusive assertion ${agentId} one`,
      `exclusive assertion ${agentId} two`,
      `exclusive task ${taskId}`,
    ]);
  });
});
