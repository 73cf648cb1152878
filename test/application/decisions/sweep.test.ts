import { expect } from 'chai';
import type { LiveTask } from '../../../application/decisions/fact.ts';
import { deleteEndedTasks, expireDueTasks } from '../../../application/decisions/sweep.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../../domain/instant.ts';
import { aLiveTask } from '../../support/decisions.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const AT = plusSeconds(NOON, 8);
const due = { overBy: NOON, at: AT, limit: 20 };

/** The records of a task: a summary of its renewals without a record, if there are any, then its expiry. */
function recordsOf({ unrecorded, createdAt, ...about }: LiveTask) {
  const said = { at: AT, ...about, decision: 'allow' };
  const end = { ...said, event: 'task.expired', reason: 'task_ttl_elapsed' };
  return unrecorded === 0 ? [end] : [{ ...said, event: 'token.refreshed', count: unrecorded }, end];
}

describe('Expiring due tasks', () => {
  it('expires each task, and records the tasks in the order of their creation with the time of the sweep', () => {
    const [first, second] = ['C', 'B'].map((last, nth) =>
      aLiveTask({
        taskId: makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${last}`),
        createdAt: instantFromMicros(NOON - 5 + nth),
        // Without a summary, and with one.
        unrecorded: 2 * nth,
      }),
    ) as [LiveTask, LiveTask];
    expect(expireDueTasks.judge(due, { due: [second, first] })).to.deep.equal({
      verdict: 2,
      effects: [
        { effect: 'end_tasks', taskIds: [second.taskId, first.taskId], at: AT, end: { state: 'expired' } },
        { effect: 'append', entries: [...recordsOf(first), ...recordsOf(second)] },
      ],
    });
  });

  it('writes nothing if no task is due', () => {
    expect(expireDueTasks.judge(due, { due: [] })).to.deep.equal({ verdict: 0, effects: [] });
  });

  it('asks about a limited number of due tasks, whose rows that question locks', () => {
    expect(expireDueTasks.asks(due)).to.deep.equal({
      due: { fact: 'due_tasks', about: { overBy: NOON, limit: 20 } },
    });
    expect(expireDueTasks.locks(due)).to.deep.equal([]);
  });
});

describe('Deleting ended tasks', () => {
  const ended = { endedBy: NOON, limit: 30 };

  for (const taskIds of [[], ['B', 'A'].map((last) => makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${last}`))]) {
    it(`deletes the ${taskIds.length} tasks that were found, and records nothing`, () => {
      expect(deleteEndedTasks.judge(ended, { ended: taskIds })).to.deep.equal({
        verdict: taskIds.length,
        effects: [{ effect: 'delete_tasks', taskIds }],
      });
    });
  }

  it('asks about a limited number of ended tasks, whose rows that question locks', () => {
    expect(deleteEndedTasks.asks(ended)).to.deep.equal({ ended: { fact: 'ended_tasks', about: ended } });
    expect(deleteEndedTasks.locks(ended)).to.deep.equal([]);
  });
});
