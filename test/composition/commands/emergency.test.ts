import { expect } from 'chai';
import type { StopTarget } from '../../../application/ports/admin-api.ts';
import { describeTarget } from '../../../composition/commands/emergency.ts';
import { parseTaskId } from '../../../domain/identifiers.ts';

describe('What an operator reads before the question of a stop', () => {
  it('is nothing about one task, and the service is not asked: its answer would delay the stop', async () => {
    const asked: StopTarget[] = [];
    const look = async (target: StopTarget) => {
      asked.push(target);
      return { live: { tasks: 2, hasMore: false }, peopleInstead: undefined };
    };
    const taskId = parseTaskId(`task_${'0'.repeat(26)}`);
    if (taskId === undefined) throw new Error('This is no task id.');
    expect(await describeTarget({ look }, { kind: 'task', taskId })).to.deep.equal([]);
    expect(asked).to.deep.equal([]);
    expect(await describeTarget({ look }, { kind: 'everything' })).to.deep.equal(['2 live tasks.']);
  });
});
