/** The chain of a task: the task and those above it, as refresh, take-up and introspection read them (`Tasks.chain`). */

import { expect } from 'chai';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { disableAgent } from '../../application/decisions/write-agent.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { type AgentId, makeTaskId, type TaskId } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  aChildOpening,
  anAssertion,
  anEntry,
  anOpening,
  aRenewal,
  aRevocation,
  openedTask,
  registeredAgent,
  ulid,
} from './storage-fixtures.ts';

onEveryDatabase('the chain of a task', ({ storage, outside }) => {
  /** Four tasks, each below the one before, of agents of their own. A second task is below the first. */
  async function aChain() {
    const agents: Agent[] = [];
    const openings: TaskOpening[] = [];
    for (let depth = 1; depth <= 4; depth++) {
      const agent = await registeredAgent(storage());
      const parent = openings.at(-1);
      const opening = parent === undefined ? anOpening(agent) : aChildOpening(agent, parent);
      expect(await storage().tasks.open(opening)).to.deep.equal({ kind: 'opened' });
      agents.push(agent);
      openings.push(opening);
      if (parent === undefined) await storage().tasks.open(aChildOpening(agent, opening));
    }
    const [root, middle, low, leaf] = openings;
    if (root === undefined || middle === undefined || low === undefined || leaf === undefined) throw new Error('four');
    return { agents, root, middle, low, leaf };
  }

  it('begins with the task, then the nearest above, each with its grant, and ends with the first of the tree', async () => {
    const { root, middle, low, leaf } = await aChain();
    const chain = await storage().tasks.chain(leaf.task.taskId);
    expect(chain).to.deep.equal(
      [leaf, low, middle, root].map(({ task, grantHash }) => ({
        task,
        grantHash,
        scope: task.scope,
        state: { kind: 'live' },
        agentEnabled: true,
      })),
    );
    const ofMiddle = await storage().tasks.chain(middle.task.taskId);
    expect(ofMiddle.map(({ task }) => task.taskId)).to.deep.equal([middle.task.taskId, root.task.taskId]);
  });

  it('counts the live tasks that an end reaches, whosever they are', async () => {
    const [lead, other] = [
      await registeredAgent(storage(), { maxTokenTtl: 60 }),
      await registeredAgent(storage(), { maxTokenTtl: 90 }),
    ];
    const NOW = plusSeconds(NOON, 1200);
    const times = { createdAt: NOON, expiresAt: plusSeconds(NOW, 600) };
    const [root, alone] = [anOpening(lead, times), anOpening(lead, times)];
    const below = aChildOpening(other, root, { ...times, expiresAt: plusSeconds(NOW, 500) });
    const lowest = aChildOpening(lead, below, { ...times, expiresAt: plusSeconds(NOW, 400) });
    const over = aChildOpening(other, root, { ...times, expiresAt: NOW });
    for (const opening of [root, alone, below, lowest, over]) await storage().tasks.open(opening);
    const count = (endOf: { agentId: AgentId } | { taskId: TaskId }, most = 1000) =>
      storage().tasks.countLive({ of: { endOf }, now: NOW, most });
    expect(await count({ agentId: lead.agentId })).to.deep.equal({
      tasks: 4,
      lastExpiry: plusSeconds(NOW, 600),
      longestTokenTtl: 90,
    });
    expect(await count({ agentId: other.agentId })).to.deep.include({ tasks: 2, lastExpiry: plusSeconds(NOW, 500) });
    expect((await count({ taskId: root.task.taskId })).tasks).to.equal(3);
    expect((await count({ taskId: root.task.taskId }, 2)).tasks).to.equal(2);
    expect((await count({ taskId: lowest.task.taskId })).tasks).to.equal(1);
    expect((await count({ taskId: over.task.taskId })).tasks).to.equal(0);
  });

  it('ends, as the tree does, at a row that was altered to be its own parent', async () => {
    const { task } = await openedTask(storage());
    const { taskId } = task;
    const { sql } = await outside('owner');
    await sql(`update tasks set parent_task_id = task_id where task_id = '${taskId}'`);
    const chain = await storage().tasks.chain(taskId);
    expect(new Set(chain.map((each) => each.task.taskId))).to.deep.equal(new Set([taskId]));
    expect(await storage().tasks.tree({ taskId, after: undefined, limit: 10, now: NOON })).to.deep.equal([]);
    await sql(`update tasks set parent_task_id = null where task_id = '${taskId}'`);
  });

  it('is empty of a task that is not stored, and one of a task that no agent handed over', async () => {
    const { task } = await openedTask(storage());
    expect(await storage().tasks.chain(makeTaskId(ulid()))).to.deep.equal([]);
    expect((await storage().tasks.chain(task.taskId)).map((each) => each.task.taskId)).to.deep.equal([task.taskId]);
  });

  it('has each task’s present scope and state, and whether its agent is enabled now', async () => {
    const { agents, root, middle, low } = await aChain();
    const { sql } = await outside('owner');
    await storage().tasks.renew(aRenewal(root, { scope: ['jira:read'] }));
    const agent = { ...(agents[1] as Agent), enabled: false, revision: 2 };
    await storage().decide(disableAgent, { agent, entry: anEntry('agent.updated') });
    await sql(`delete from agents where agent_id = '${low.task.agentId}'`);
    const { at, reason } = aRevocation(middle);
    await storage().tasks.revokeByGrant(
      { at, reason },
      middle.task.agentId,
      middle.grantHash,
      anAssertion(middle.task.agentId),
    );
    const found = (await storage().tasks.chain(low.task.taskId)).map(({ scope, state, agentEnabled }) => ({
      scope: scope.join(' '),
      state,
      agentEnabled,
    }));
    const scope = 'jira:read jira:comment';
    expect(found).to.deep.equal([
      { scope, state: { kind: 'revoked', at, reason: 'parent_revoked' }, agentEnabled: false },
      { scope, state: { kind: 'revoked', at, reason }, agentEnabled: false },
      { scope: 'jira:read', state: { kind: 'live' }, agentEnabled: true },
    ]);
  });

  it('ends below a task that is gone: its reader finds fewer than the task says', async () => {
    const { middle, low, leaf } = await aChain();
    const { sql } = await outside('owner');
    await sql(`delete from task_grants where task_id = '${middle.task.taskId}'`);
    await sql(`delete from tasks where task_id = '${middle.task.taskId}'`);
    const chain = await storage().tasks.chain(leaf.task.taskId);
    expect(chain.map(({ task }) => task.taskId)).to.deep.equal([leaf, low].map(({ task }) => task.taskId));
    expect(leaf.task.delegatedBy).to.have.length(3);
  });
});
