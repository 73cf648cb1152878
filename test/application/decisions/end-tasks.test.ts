import { expect } from 'chai';
import { endTasks, type TasksEnd } from '../../../application/decisions/end-tasks.ts';
import { ask } from '../../../application/decisions/fact.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { ADA, aLiveTask, endOf, locksOf, NO_TASKS, revocationOf } from '../../support/decision-people.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const at = instantFromMicros(NOON + 77_000_001);
const reason = 'operator_kill_switch';
const [root, busy, child] = [aLiveTask(1), aLiveTask(2, { unrecorded: 3 }), aLiveTask(3)];
const { taskId, agentId } = root;

const ofTask: TasksEnd = { at, reason, selection: { kind: 'task', taskId, sponsorKey: ADA } };
const ofAgent: TasksEnd = { at, reason, selection: { kind: 'agent', agentId } };
const ofPerson: TasksEnd = { at, reason, selection: { kind: 'sponsor', sponsorKey: ADA } };
const KILL_SWITCHES = [
  ['a task', ofTask, `exclusive sponsor ${ADA}`, undefined],
  ['an agent', ofAgent, `exclusive agent ${agentId}`, ask('agent_revision', agentId)],
  ['a person', ofPerson, `exclusive sponsor ${ADA}`, undefined],
] as const;

describe('endTasks', () => {
  it('uses the connections of the operator', () => {
    expect(endTasks.transaction).to.equal('operator');
  });

  for (const [which, input, lock, revision] of KILL_SWITCHES) {
    describe(`for ${which}`, () => {
      it('locks the person or the agent exclusively, so that it waits for running exchanges', () => {
        expect(locksOf(endTasks, input)).to.deep.equal([lock]);
      });

      it('asks for the live tasks of the selection, and for the revision of an agent', () => {
        const live = ask('live_tasks', { selection: input.selection, at });
        expect(endTasks.asks(input)).to.deep.equal({ live, revision });
      });

      const stored = revision && 7;

      it('ends the selected and the delegated tasks, and records each end', () => {
        const live = { selected: [root, busy], delegated: [child] };
        expect(endTasks.judge(input, { live, revision: stored })).to.deep.equal({
          verdict: { kind: 'ended', tasks: 3 },
          effects: [
            endOf([root, busy], at, reason),
            endOf([child], at, 'parent_revoked'),
            {
              effect: 'append',
              entries: [
                ...revocationOf(root, at, reason),
                ...revocationOf(busy, at, reason),
                ...revocationOf(child, at, 'parent_revoked'),
              ],
            },
          ],
        });
      });

      it('answers 0 and writes nothing if no task is live', () => {
        const judgement = { verdict: { kind: 'ended', tasks: 0 }, effects: [] };
        expect(endTasks.judge(input, { live: NO_TASKS, revision: stored })).to.deep.equal(judgement);
      });
    });
  }

  it('does not find an agent that is not stored, and writes nothing', () => {
    const live = { selected: [root], delegated: [child] };
    const judgement = { verdict: { kind: 'not_found' }, effects: [] };
    expect(endTasks.judge(ofAgent, { live, revision: undefined })).to.deep.equal(judgement);
  });
});
