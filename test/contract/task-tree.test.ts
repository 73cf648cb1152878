/** The tree of a task in pages (`Tasks.tree`), on both databases. */

import { expect } from 'chai';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { myTaskTree } from '../../application/me/my-tasks.ts';
import type { TreePosition, TreeTask } from '../../application/ports/tasks.ts';
import type { TaskId } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { byLength } from '../support/length.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { aChildOpening, openedTask, registeredAgent } from './storage-fixtures.ts';

const NOW = plusSeconds(NOON, 60);
const LEAVES = byLength({ short: 2000, full: 10_000 });
const idsOf = (tasks: readonly TreeTask[]) => tasks.map(({ taskId }) => taskId);

onEveryDatabase('the tree of a task', ({ storage, outside, kind }) => {
  async function below(parent: TaskOpening): Promise<TaskOpening> {
    const { sponsorKey, sponsor } = parent.task;
    const agent = await registeredAgent(storage(), { displayName: 'Finder' });
    const opening = aChildOpening(agent, parent, { sponsorKey, sponsor });
    expect((await storage().decide(openTask, opening)).kind).to.equal('opened');
    return opening;
  }

  const page = (taskId: TaskId, limit: number, after?: TreePosition) =>
    storage().tasks.tree({ taskId, limit, after, now: NOW });

  /** The whole tree in pages, each of which has at most `limit` tasks. */
  async function whole(taskId: TaskId, limit: number): Promise<readonly TreeTask[]> {
    const found: TreeTask[] = [];
    for (;;) {
      const next = await page(taskId, limit, found.at(-1));
      expect(next.length).to.be.at.most(limit);
      if (next.length === 0) return found;
      found.push(...next);
    }
  }

  it('is the same from each of its tasks, level by level, in pages of any size, and has no other task', async () => {
    const root = await openedTask(storage());
    const [left, right] = [await below(root), await below(root)];
    const [under, last] = [await below(right), await below(left)];
    await openedTask(storage(), { sponsorKey: root.task.sponsorKey });
    const expected = [root, left, right, under, last].map(({ task }) => task.taskId);
    for (const { task } of [root, right, last]) {
      for (const limit of [1, 2, 5, 6]) expect(idsOf(await whole(task.taskId, limit))).to.deep.equal(expected);
    }
  });

  it('is given to its person alone, the first tasks up to the limit, and says whether there are more', async () => {
    const root = await openedTask(storage());
    const child = await below(root);
    const { taskId } = child.task;
    const of = async ({ task: { sponsorKey } }: TaskOpening, limit: number) => {
      const person = { sponsorKey } as MePerson;
      const service = { tasks: storage().tasks, sharedTime: { earliest: async () => NOW } };
      const { tasks, areMore } = await myTaskTree(service, person, { taskId, limit });
      return [idsOf(tasks), areMore];
    };
    expect(await of(root, 2)).to.deep.equal([[root.task.taskId, taskId], false]);
    expect(await of(root, 1)).to.deep.equal([[root.task.taskId], true]);
    expect(await of(await openedTask(storage()), 2), 'another person').to.deep.equal([[], false]);
  });

  it('has each field of a task, and tasks that have ended or whose time is up', async () => {
    const root = await openedTask(storage());
    const [ended, overdue] = [await below(root), await below(root)];
    const at = plusSeconds(NOON, 30);
    await storage().tasks.end({ kind: 'task', taskId: ended.task.taskId }, { at, reason: 'operator_kill_switch' });
    const { expiresAt } = overdue.task;
    const [first, second, third] = await storage().tasks.tree({
      taskId: ended.task.taskId,
      after: undefined,
      limit: 9,
      now: expiresAt,
    });
    expect(first).to.include({ taskId: root.task.taskId, parentTaskId: undefined, delegationDepth: 1 });
    expect(second).to.deep.equal({
      taskId: ended.task.taskId,
      parentTaskId: root.task.taskId,
      agentId: ended.task.agentId,
      displayName: 'Finder',
      audience: ended.task.audience,
      delegationDepth: 2,
      expiresAt: ended.task.expiresAt,
      state: { kind: 'revoked', at, reason: 'operator_kill_switch' },
    });
    expect(third?.state).to.deep.equal({ kind: 'expired', at: expiresAt });
  });

  it('is a single task without any below it, and empty for a task that is not stored', async () => {
    const { task } = await openedTask(storage());
    expect(idsOf(await page(task.taskId, 9))).to.deep.equal([task.taskId]);
    expect(await page('task_01M31S7W68TMK7WDX8YKPSYTEZ' as TaskId, 9)).to.deep.equal([]);
  });

  it(`with ${LEAVES} leaves comes in pages, each leaf once`, async () => {
    const root = await openedTask(storage());
    const child = await below(root);
    const connection = await outside();
    const numbers =
      kind.engine === 'postgres'
        ? `generate_series(1, ${LEAVES}) as numbers (n)`
        : `(with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${LEAVES}) select n from numbers)`;
    const id = kind.engine === 'postgres' ? "lpad(n::text, 26, '0')" : "printf('%026d', n)";
    await connection.sql(`insert into tasks (task_id, agent_id, parent_task_id, delegated_by, sponsor_key, sponsor, audience, scope,
        delegation_depth, created_at, expires_at)
      select 'task_' || ${id}, c.agent_id, c.task_id, c.delegated_by, c.sponsor_key, c.sponsor, c.audience, c.scope, 3, c.created_at,
          c.expires_at
        from ${numbers} cross join tasks c where c.task_id = '${child.task.taskId}'`);
    const found = await whole(root.task.taskId, 1000);
    expect(found.map(({ delegationDepth }) => delegationDepth)).to.deep.equal([1, 2, ...Array(LEAVES).fill(3)]);
    expect(new Set(idsOf(found)).size).to.equal(LEAVES + 2);
  });
});
