import { expect } from 'chai';
import { expireTasks, revokeTasks } from '../../../application/decisions/ending.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { aLiveTask, endOf, NO_TASKS } from '../../support/decision-people.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const revocation = { at: LATER, reason: 'scim_deleted' } as const;
const [first, second, third] = [aLiveTask(1), aLiveTask(2, { unrecorded: 6 }), aLiveTask(3)];

describe('Ending tasks', () => {
  it('records each fact of a task, and sums up its renewals before its end', () => {
    const about = {
      at: LATER,
      taskId: second.taskId,
      agentId: 'agent-2',
      sponsor: 'sub-2',
      audience: 'https://jira-2.example',
      scope: 'jira:read jira:comment',
      delegationDepth: 2,
      decision: 'allow',
    };
    const summary = { ...about, event: 'token.refreshed', count: 6 };
    const { entries } = revokeTasks({ selected: [second], delegated: [] }, revocation);
    expect(entries).to.deep.equal([summary, { ...about, event: 'task.revoked', reason: 'scim_deleted' }]);
    const expired = expireTasks([second], LATER).entries;
    expect(expired).to.deep.equal([summary, { ...about, event: 'task.expired', reason: 'task_ttl_elapsed' }]);
  });

  it('records no summary for a task whose renewals all have their own records', () => {
    const { entries } = revokeTasks({ selected: [first], delegated: [third] }, revocation);
    expect(entries.map(({ event }) => event)).to.deep.equal(['task.revoked', 'task.revoked']);
  });

  it('revokes selected tasks for the given reason, and delegated tasks because their parent is revoked', () => {
    const { effects, entries, tasks } = revokeTasks({ selected: [first, third], delegated: [second] }, revocation);
    expect(effects).to.deep.equal([
      endOf([first, third], LATER, 'scim_deleted'),
      endOf([second], LATER, 'parent_revoked'),
    ]);
    expect(entries.map(({ taskId, event, reason }) => [taskId, event, reason])).to.deep.equal([
      [first.taskId, 'task.revoked', 'scim_deleted'],
      [second.taskId, 'token.refreshed', undefined],
      [second.taskId, 'task.revoked', 'parent_revoked'],
      [third.taskId, 'task.revoked', 'scim_deleted'],
    ]);
    expect(tasks).to.equal(3);
  });

  it('orders the records by creation, and tasks of one instant by id, whatever the order of the facts', () => {
    const twin = aLiveTask(4, { createdAt: second.createdAt });
    const inOrder = [first, second, twin, third].map(({ taskId }) => taskId);
    for (const selected of [
      [third, twin, second],
      [second, twin, third],
    ]) {
      const ended = revokeTasks({ selected, delegated: [first] }, revocation).entries;
      const revoked = ended.filter(({ event }) => event === 'task.revoked');
      expect(revoked.map(({ taskId }) => taskId)).to.deep.equal(inOrder);
    }
  });

  it('expires tasks with one effect, dated by the sweep', () => {
    const { effects, entries, tasks } = expireTasks([third, first], LATER);
    const taskIds = [third.taskId, first.taskId];
    expect(effects).to.deep.equal([{ effect: 'end_tasks', taskIds, at: LATER, end: { state: 'expired' } }]);
    expect(entries.map(({ taskId }) => taskId)).to.deep.equal([first.taskId, third.taskId]);
    expect(tasks).to.equal(2);
  });

  it('has no effect for an empty list', () => {
    expect(revokeTasks(NO_TASKS, revocation)).to.deep.equal({ effects: [], entries: [], tasks: 0 });
    const { effects } = revokeTasks({ selected: [], delegated: [second] }, revocation);
    expect(effects).to.deep.equal([endOf([second], LATER, 'parent_revoked')]);
  });
});
