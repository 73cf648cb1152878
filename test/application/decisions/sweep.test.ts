import { expect } from 'chai';
import { deleteEndedTasks, expireDueTasks } from '../../../application/decisions/sweep.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const AT = plusSeconds(NOON, 8);
const due = { overBy: NOON, at: AT, limit: 20 };

const [first, second] = ['C', 'B'].map((last) => makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${last}`));

describe('Expiring due tasks', () => {
  it('expires the tasks in the order of the facts, and dates each record with the given time', () => {
    const end = { state: 'expired', record: { event: 'task.expired', reason: 'task_ttl_elapsed' } };
    const tasks = [first, second].map((taskId) => ({ taskId, end }));
    // The record of an expiry follows the summary of the task's renewals.
    const ended = { tasks, at: AT, renewalsEvent: 'token.refreshed', withdrawnEvent: 'approval.withdrawn' };
    expect(expireDueTasks.judge(due, { due: [first, second] })).to.deep.equal({
      verdict: 2,
      effects: [
        { effect: 'end_tasks', ...ended },
        { effect: 'append', entries: [], ended },
      ],
    });
  });

  it('writes nothing if no task is due', () => {
    expect(expireDueTasks.judge(due, { due: [] })).to.deep.equal({ verdict: 0, effects: [] });
  });

  it('reads a limited number of due tasks, and locks only the rows that it reads', () => {
    expect(expireDueTasks.asks(due)).to.deep.equal({
      due: { fact: 'due_tasks', about: { overBy: NOON, limit: 20 } },
    });
    expect(expireDueTasks.locks(due)).to.deep.equal([]);
  });
});

describe('Deleting ended tasks', () => {
  const ended = { endedBy: NOON, limit: 30 };

  for (const taskIds of [[], [first, second]]) {
    it(`deletes the ${taskIds.length} tasks that were found, and records nothing`, () => {
      expect(deleteEndedTasks.judge(ended, { ended: taskIds })).to.deep.equal({
        verdict: taskIds.length,
        effects: [{ effect: 'delete_tasks', taskIds }],
      });
    });
  }

  it('reads a limited number of ended tasks, and locks only the rows that it reads', () => {
    expect(deleteEndedTasks.asks(ended)).to.deep.equal({ ended: { fact: 'ended_tasks', about: ended } });
    expect(deleteEndedTasks.locks(ended)).to.deep.equal([]);
  });
});
