import { expect } from 'chai';
import { type DelegationQuestion, findDelegations } from '../../application/admin/find-delegations.ts';
import { firstTaskIdAt, makeTaskId, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { agreeing, movedClock } from '../support/moved-clock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { openedTask } from './storage-fixtures.ts';

/** An hour of the month that the ledger has a partition for. */
const HOUR = plusSeconds(NOON, 86_400);
const at = (minutes: number) => plusSeconds(HOUR, minutes * 60);

onEveryDatabase('the tasks of a picture', ({ storage }) => {
  const ids = new Map<string, TaskId>();
  const find = async (question: Partial<DelegationQuestion>) => {
    const service = { tasks: storage().tasks, sharedTime: agreeing({ now: () => at(600) }), maxTaskTtl: 3600 };
    const { tasks, isComplete } = await findDelegations(service, { state: undefined, window: undefined, ...question });
    expect(isComplete).to.equal(true);
    const names = new Map([...ids].map(([name, id]) => [id, name]));
    return tasks.map(({ taskId }) => names.get(taskId) ?? taskId).sort();
  };

  /** Its id has the time of its beginning, as in the service. */
  const open = async (name: string, from: number, until: number, killedAt?: number) => {
    const taskId = makeTaskId(
      `${firstTaskIdAt(at(from)).slice('task_'.length, -16)}${String(ids.size).padStart(16, '0')}`,
    );
    ids.set(name, taskId);
    const { task } = await openedTask(storage(), { taskId, createdAt: at(from), expiresAt: at(until) });
    const killed = { at: at(killedAt ?? 0), reason: 'operator_kill_switch' } as const;
    if (killedAt !== undefined)
      await storage().tasks.end({ kind: 'task', taskId, sponsorKey: task.sponsorKey }, killed);
    return task;
  };

  before(async () => {
    await open('before', 0, 30);
    await open('into', 20, 80);
    await open('killed before', 30, 90, 50);
    await open('killed within', 30, 90, 65);
    await open('within', 70, 75);
    await open('after', 120, 150);
    await open('live', 80, 700);
  });

  it('are the live ones without a window', async () => {
    expect(await find({})).to.deep.equal(['live']);
    expect(await find({ state: 'revoked' })).to.deep.equal(['killed before', 'killed within']);
  });

  it('are with a window those of every state that ran in it, at its ends too', async () => {
    const window = (from: Instant, to: Instant) => ({ window: { from, to } });
    expect(await find(window(at(60), at(100)))).to.deep.equal(['into', 'killed within', 'live', 'within']);
    expect(await find({ ...window(at(60), at(100)), state: 'revoked' })).to.deep.equal(['killed within']);
    // A window ends before its `to`, and a task still ran at its end.
    expect(await find(window(at(30), at(30)))).to.deep.equal(['before', 'into']);
    expect(await find(window(at(80), at(80)))).to.deep.equal(['into']);
    expect(await find(window(at(115), at(120)))).to.deep.equal(['live']);
  });

  it('are narrowed to an agent, a person or a tool server', async () => {
    const task = await open('scoped', 80, 700);
    const { agentId, sponsorKey, audience } = task;
    expect(await find({ agentId })).to.deep.equal(['scoped']);
    expect(await find({ sponsorKey })).to.deep.equal(['scoped']);
    expect(await find({ audience })).to.deep.equal(['live', 'scoped']);
    expect(await find({ audience: 'https://elsewhere.example' })).to.deep.equal([]);
  });

  it('say so if there are more than are read', async () => {
    const page = { tasks: Array.from({ length: 1000 }, () => ({ taskId: 'x' })), readUpTo: undefined };
    let reads = 0;
    const tasks = {
      list: async () => {
        reads += 1;
        return page as never;
      },
    };
    const found = await findDelegations(
      { tasks, sharedTime: agreeing(movedClock()), maxTaskTtl: 3600 },
      { state: undefined, window: undefined },
    );
    expect([found.tasks.length, found.isComplete, reads]).to.deep.equal([10_000, false, 10]);
  });
});
