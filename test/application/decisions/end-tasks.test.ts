import { expect } from 'chai';
import type { Effect } from '../../../application/decisions/effect.ts';
import { endAllRequests, endSomeTasks, endTasks, type TasksEnd } from '../../../application/decisions/end-tasks.ts';
import { voidAuthorizations } from '../../../application/decisions/ending.ts';
import { ask } from '../../../application/decisions/fact.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { anAct } from '../../contract/world.ts';
import { ADA, endEffects, liveTasks, lockNames, NO_TASKS, revoked, TASKS } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const at = instantFromMicros(NOON + 77_000_001);
const reason = 'operator_kill_switch';
const [taskId, child, second] = TASKS;
const agentId = agentIdOf('agent-7');
const live = liveTasks([taskId, second], [child]);

const ofTask: TasksEnd = { at, reason, selection: { kind: 'task', taskId, sponsorKey: ADA } };
const ofAgent: TasksEnd = { at, reason, selection: { kind: 'agent', agentId } };
const ofPerson: TasksEnd = { at, reason, selection: { kind: 'sponsor', sponsorKey: ADA } };
const ofAgentForPerson: TasksEnd = { at, reason, selection: { kind: 'sponsor_agent', sponsorKey: ADA, agentId } };
const KILL_SWITCHES = [
  ['a task', ofTask, [`exclusive sponsor ${ADA}`, `exclusive task ${taskId}`], undefined],
  ['an agent', ofAgent, [`exclusive agent ${agentId}`], ask('agent_revision', agentId)],
  ['a person', ofPerson, [`exclusive sponsor ${ADA}`], undefined],
  ['an agent for one person', ofAgentForPerson, [`exclusive sponsor ${ADA}`], undefined],
] as const;

/** What ends with the tasks: nothing with one task. */
function goneWith({ selection }: TasksEnd): readonly Effect[] {
  return selection.kind === 'task' ? [] : voidAuthorizations(selection, { at, reason });
}

describe('endTasks', () => {
  for (const [which, input, locks, revision] of KILL_SWITCHES) {
    describe(`for ${which}`, () => {
      const asked = input.selection.kind === 'task' ? ask('task_sponsor', taskId) : undefined;

      it('locks the person or the agent exclusively, and thus waits for running exchanges', () => {
        expect(lockNames(endTasks.locks(input))).to.deep.equal(locks);
      });

      it(`${input === ofTask ? 'shares' : 'does not share'} a transaction with other stops`, () => {
        expect(endTasks.mayShare?.(input)).to.equal(input === ofTask);
      });

      it('reads the live tasks of the selection, the person of a task, and the revision of an agent', () => {
        const question = ask('live_tasks', { selection: input.selection, at });
        expect(endTasks.asks(input)).to.deep.equal({ live: question, task: asked, revision });
      });

      const gone = goneWith(input);
      const task = asked && ADA;
      const stored = revision && 7;

      it('ends the selected and the delegated tasks, and records each end', () => {
        const ended = revoked(at, [taskId, reason], [child, 'parent_revoked'], [second, reason]);
        const [tasks, records] = endEffects(ended);
        const judgement = { verdict: { kind: 'ended', tasks: 3 }, effects: [tasks, ...gone, records] };
        expect(endTasks.judge(input, { live, task, revision: stored })).to.deep.equal(judgement);
      });

      it('answers 0 if no task is live, and ends only authorizations', () => {
        const judgement = { verdict: { kind: 'ended', tasks: 0 }, effects: gone };
        expect(endTasks.judge(input, { live: NO_TASKS, task, revision: stored })).to.deep.equal(judgement);
      });
    });
  }

  it('has its own transaction if it records the act of an operator', () => {
    expect(endTasks.mayShare?.({ ...ofTask, act: anAct('DELETE /admin/tasks/{id}') })).to.equal(false);
  });

  it('answers not_found for an agent that is not stored, and writes nothing', () => {
    const judgement = { verdict: { kind: 'not_found' }, effects: [] };
    expect(endTasks.judge(ofAgent, { live, revision: undefined })).to.deep.equal(judgement);
  });

  it('answers not_found for a task that is not stored, and writes nothing', () => {
    const judgement = { verdict: { kind: 'not_found' }, effects: [] };
    expect(endTasks.judge(ofTask, { live: NO_TASKS, task: undefined })).to.deep.equal(judgement);
  });
});

describe('endSomeTasks', () => {
  const input = { limit: 3, at, reason } as const;

  it('takes no lock of a person or an agent, and reads some of all live tasks', () => {
    expect(endSomeTasks.locks(input)).to.deep.equal([]);
    expect(endSomeTasks.asks(input)).to.deep.equal({ live: ask('some_live_tasks', { limit: 3, at }) });
  });

  it('ends all of them with one reason, also delegated ones, and says whether others are left', () => {
    for (const areAll of [true, false]) {
      const ended = revoked(at, [taskId, reason], [child, reason], [second, reason]);
      const judgement = { verdict: { tasks: 3, isLast: areAll }, effects: endEffects(ended) };
      expect(endSomeTasks.judge(input, { live: { taskIds: [taskId, child, second], areAll } })).to.deep.equal(
        judgement,
      );
    }
  });

  it('records the act of an operator only with tasks', () => {
    const act = anAct('DELETE /admin/tasks');
    const recordsFor = (taskIds: readonly TaskId[]) =>
      endSomeTasks.judge({ ...input, act }, { live: { taskIds, areAll: true } }).effects.map(({ effect }) => effect);
    expect(recordsFor([taskId])).to.deep.equal(['end_tasks', 'append', 'operator_act']);
    expect(recordsFor([])).to.deep.equal([]);
    expect([0, 1].map((tasks) => endSomeTasks.recordsAct?.({ tasks, isLast: true }))).to.deep.equal([false, true]);
  });
});

describe('endAllRequests', () => {
  it('waits for each request that is being kept, and ends all of them', () => {
    const end = { at, reason } as const;
    expect(lockNames(endAllRequests.locks(end))).to.deep.equal(['exclusive authorizing ']);
    expect(endAllRequests.judge(end, {}).effects).to.deep.equal(voidAuthorizations({ kind: 'everything' }, end));
  });
});
