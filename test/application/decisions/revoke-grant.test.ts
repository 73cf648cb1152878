import { expect } from 'chai';
import type { LiveTask } from '../../../application/decisions/fact.ts';
import { type GrantRevocation, revokeGrant } from '../../../application/decisions/revoke-grant.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { anAssertion, newSponsorKey, together } from '../../contract/scene.ts';
import { aLiveTask, lockNames } from '../../support/decisions.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const agentId = agentIdOf('jira-triage');
const AT = instantFromMicros(NOON + 77_000_001);
const root = aLiveTask({ unrecorded: 4 });
const revocation: GrantRevocation = {
  at: AT,
  reason: 'client_revoked',
  taskId: root.taskId,
  sponsorKey: newSponsorKey(),
  assertion: together(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON }),
};
const { taskId, sponsorKey, assertion } = revocation;

const task = { state: 'live', expiresAt: instantFromMicros(AT + 1) };
const clear = { spent: [false, false], task, live: { selected: [root], delegated: [] } };
const SPENT = [
  { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: assertion.forgetAt },
  { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON },
];

/** The records of a task: a summary of its renewals without a record, if there are any, then its end. */
function recordsOf(
  { unrecorded, createdAt, ...about }: LiveTask,
  reason: 'client_revoked' | 'parent_revoked' = 'client_revoked',
) {
  const said = { at: AT, ...about, decision: 'allow' };
  const end = { ...said, event: 'task.revoked', reason };
  return unrecorded === 0 ? [end] : [{ ...said, event: 'token.refreshed', count: unrecorded }, end];
}

const ends = (tasks: readonly LiveTask[], reason: string) => ({
  effect: 'end_tasks',
  taskIds: tasks.map((each) => each.taskId),
  at: AT,
  end: { state: 'revoked', reason },
});

describe('Revoking a task by its grant', () => {
  for (const [title, unrecorded] of [
    ['and sums up its renewals without a record just before', 4],
    ['and sums up a single renewal without a record', 1],
    ['without a summary if each renewal has its record', 0],
  ] as const) {
    it(`ends the task, records all that is known of it, ${title}`, () => {
      const ended = { ...root, unrecorded };
      const facts = { ...clear, live: { selected: [ended], delegated: [] } };
      expect(revokeGrant.judge(revocation, facts)).to.deep.equal({
        verdict: 'revoked',
        effects: [...SPENT, ends([ended], 'client_revoked'), { effect: 'append', entries: recordsOf(ended) }],
      });
    });
  }

  it('ends the delegated tasks because their parent is revoked, and records the tasks in the order of their creation', () => {
    const [first, second, third] = ['W', 'V', 'X'].map((last, nth) =>
      aLiveTask({
        taskId: makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${last}`),
        sponsor: `bob-${nth}`,
        unrecorded: nth,
        // The last two began at one time. Their ids decide.
        createdAt: instantFromMicros(NOON + Math.min(nth + 1, 2)),
      }),
    ) as [LiveTask, LiveTask, LiveTask];
    const facts = { ...clear, live: { selected: [root], delegated: [third, second, first] } };
    expect(revokeGrant.judge(revocation, facts)).to.deep.equal({
      verdict: 'revoked',
      effects: [
        ...SPENT,
        ends([root], 'client_revoked'),
        ends([third, second, first], 'parent_revoked'),
        {
          effect: 'append',
          entries: [...recordsOf(root), ...[first, second, third].flatMap((each) => recordsOf(each, 'parent_revoked'))],
        },
      ],
    });
  });

  const child = aLiveTask({ taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEC'), unrecorded: 1 });
  const none = { selected: [], delegated: [] };
  for (const [title, facts] of [
    ['is gone', { task: undefined, live: none }],
    ['was revoked before', { task: { ...task, state: 'revoked' }, live: none }],
    ['has a recorded expiry', { task: { ...task, state: 'expired' }, live: none }],
    [
      'has a recorded expiry, while a task delegated from it lives on',
      { task: { ...task, state: 'expired' }, live: { selected: [], delegated: [child] } },
    ],
    ['has passed its expiry, which the sweeper will record', { task: { ...task, expiresAt: AT }, live: none }],
  ] as const) {
    it(`only spends the assertions if the task ${title}`, () => {
      expect(revokeGrant.judge(revocation, { ...clear, ...facts })).to.deep.equal({
        verdict: 'already_ended',
        effects: SPENT,
      });
    });
  }

  it('ends the delegated tasks of a task that has passed its expiry, and leaves that task to the sweeper', () => {
    // Specification "POST /oauth2/revoke": a grant revokes everything delegated from its task. "Task": an expiry is never
    // recorded as a revocation.
    const facts = { task: { ...task, expiresAt: AT }, live: { selected: [], delegated: [child] } };
    expect(revokeGrant.judge(revocation, { ...clear, ...facts })).to.deep.equal({
      verdict: 'revoked',
      effects: [
        ...SPENT,
        ends([child], 'parent_revoked'),
        { effect: 'append', entries: recordsOf(child, 'parent_revoked') },
      ],
    });
  });

  for (const spent of [
    [true, false],
    [false, true],
  ]) {
    it(`writes nothing if ${spent[0] ? 'the assertion' : 'the client assertion'} was used before`, () => {
      expect(revokeGrant.judge(revocation, { ...clear, spent })).to.deep.equal({ verdict: 'replayed', effects: [] });
    });
  }

  it('asks about the assertions, the task and the live tasks below it', () => {
    expect(revokeGrant.asks(revocation)).to.deep.equal({
      spent: ['one', 'two'].map((jti) => ({ fact: 'assertion_spent', about: { agentId, jti } })),
      task: { fact: 'task_state', about: taskId },
      live: { fact: 'live_tasks', about: { selection: { kind: 'task', taskId }, at: AT } },
    });
  });

  it('holds the person and its assertions exclusively', () => {
    expect(lockNames(revokeGrant.locks(revocation))).to.deep.equal([
      `exclusive sponsor ${sponsorKey}`,
      `exclusive assertion ${agentId} one`,
      `exclusive assertion ${agentId} two`,
    ]);
  });
});
