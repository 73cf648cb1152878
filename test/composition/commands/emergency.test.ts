import { expect } from 'chai';
import type { StopTarget } from '../../../application/ports/admin-api.ts';
import { describeTarget } from '../../../composition/commands/emergency.ts';
import { parseTaskId } from '../../../domain/identifiers.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';

describe('What an operator reads before the question of a stop', () => {
  it('is nothing about one task, and the service is not asked: its answer would delay the stop', async () => {
    const asked: StopTarget[] = [];
    const look = async (target: StopTarget) => {
      asked.push(target);
      return { live: { tasks: 2, hasMore: false, mayHaveBelow: false }, peopleInstead: undefined };
    };
    const taskId = parseTaskId(`task_${'0'.repeat(26)}`);
    if (taskId === undefined) throw new Error('This is no task id.');
    expect(await describeTarget({ look }, { kind: 'task', taskId })).to.deep.equal([]);
    expect(asked).to.deep.equal([]);
    expect(await describeTarget({ look }, { kind: 'everything' })).to.deep.equal(['2 live tasks.']);
  });

  it('names the tasks below those of an agent that may hand work to others: they end too, and are not counted', async () => {
    const look = async () => ({ live: { tasks: 2, hasMore: false, mayHaveBelow: true }, peopleInstead: undefined });
    expect(await describeTarget({ look }, { kind: 'agent', agentId: agentIdOf('jira-lead') })).to.deep.equal([
      '2 live tasks, and those that were delegated from them.',
    ]);
  });
});
