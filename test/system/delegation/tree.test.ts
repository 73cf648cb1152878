/** `GET /admin/tasks/{task_id}/tree`: the tasks that agents handed to each other, from any of them. */

import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, type HeldTask, heldTask } from '../../support/delegation.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const DEEP = { max_delegation_depth: 3 };

for (const database of databasesByLength) {
  describe(`The tree of a task on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let agents: Readonly<Record<'root' | 'lead' | 'leaf', RegisteredAgent>>;
    let tasks: Readonly<Record<'root' | 'lead' | 'leaf' | 'ended', HeldTask>>;
    before(async () => {
      const delegation = { 'Service:Delegation:Enabled': 'true', 'Service:Delegation:MaxDepth': '3' };
      mandate = await startMandate({ database, settings: { ...sharedSigningKey(), ...delegation } });
      const at = delegationAt(mandate);
      const leaf = await mandate.agent(DEEP);
      const lead = await mandate.agent({ ...DEEP, delegates_to: [leaf.id] });
      agents = { leaf, lead, root: await mandate.agent({ ...DEEP, delegates_to: [lead.id, leaf.id] }) };
      const root = heldTask(await agents.root.exchange());
      const ended = await at.handOver(agents.root, leaf, root);
      await mandate.admin('DELETE', `/admin/tasks/${ended.taskId}`);
      const middle = await at.handOver(agents.root, lead, root);
      tasks = { root, ended, lead: middle, leaf: await at.handOver(lead, leaf, middle) };
    });
    after(() => mandate.stop());

    const treeOf = (task: string, query = '') => mandate.admin('GET', `/admin/tasks/${task}/tree${query}`);

    it('has each task with its agent, its tool server, its state and its depth, also those that have ended', async () => {
      const line = (task: HeldTask, parent: HeldTask | undefined, agent: RegisteredAgent, depth: number) => ({
        task_id: task.taskId,
        parent_task_id: parent?.taskId ?? null,
        agent_id: agent.id,
        audience: JIRA,
        state: task === tasks.ended ? 'revoked' : 'live',
        delegation_depth: depth,
      });
      const expected = [
        line(tasks.root, undefined, agents.root, 1),
        line(tasks.ended, tasks.root, agents.leaf, 2),
        line(tasks.lead, tasks.root, agents.lead, 2),
        line(tasks.leaf, tasks.lead, agents.leaf, 3),
      ];
      for (const { taskId } of Object.values(tasks)) {
        const { status, body } = await treeOf(taskId);
        expect([status, body]).to.deep.equal([200, { tasks: expected, next_cursor: null }]);
      }
    });

    it('comes in pages; a cursor continues only its own tree', async () => {
      const found: unknown[] = [];
      let cursor: unknown = null;
      do {
        const { body } = await treeOf(tasks.leaf.taskId, `?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`);
        found.push((body.tasks as unknown[]).length);
        cursor = body.next_cursor;
      } while (cursor !== null);
      expect(found).to.deep.equal([3, 1]);
      const { body } = await treeOf(tasks.leaf.taskId, '?limit=1');
      const foreign = await treeOf(tasks.root.taskId, `?cursor=${body.next_cursor}`);
      expect([foreign.status, Object.keys(foreign.body.errors as object)]).to.deep.equal([400, ['cursor']]);
      for (const query of ['?limit=0', '?state=live', '?cursor=x']) {
        expect((await treeOf(tasks.root.taskId, query)).status, query).to.equal(400);
      }
    });

    it('is 404 for a task that is not stored, or has no well-formed id', async () => {
      for (const id of ['task_01M31S7W68TMK7WDX8YKPSYTEZ', 'none']) {
        const { status, body } = await treeOf(id);
        expect([status, body.detail]).to.deep.equal([404, 'There is no such task.']);
      }
    });

    it('has no path without Service:Delegation:Enabled', async () => {
      const off = await mandate.another({ 'Service:Delegation:Enabled': 'false' });
      try {
        const [tree, none] = await Promise.all(
          ['tree', 'none'].map((end) => off.admin('GET', `/admin/tasks/${tasks.root.taskId}/${end}`)),
        );
        expect([tree?.status, tree?.body]).to.deep.equal([404, none?.body]);
        expect((await off.admin('PUT', `/admin/tasks/${tasks.root.taskId}/tree`)).status).to.equal(404);
      } finally {
        await off.stop();
      }
    });
  });
}
