/** The console's tree of tasks that agents handed to each other, and how many tasks a stop ends. */

import { expect } from 'chai';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, type HeldTask, heldTask } from '../../support/delegation.ts';
import type { RegisteredAgent } from '../../support/mandate.ts';

const DEEP = { max_delegation_depth: 2 };

for (const database of databasesByLength) {
  describe(`The console's tree of a task on ${database.name}`, function () {
    this.timeout(60_000);
    let service: ConsoleService;
    let responder: OperatorAtConsole;
    let lead: RegisteredAgent;
    let child: RegisteredAgent;
    let root: HeldTask;
    let below: HeldTask;
    before(async () => {
      service = await startConsole(database, { 'Service:Delegation:Enabled': 'true' });
      const { mandate } = service;
      child = await mandate.agent({ ...DEEP, display_name: 'Jira reader' });
      lead = await mandate.agent({ ...DEEP, display_name: 'Jira lead', delegates_to: [child.id] });
      root = heldTask(await lead.exchange());
      below = await delegationAt(mandate).handOver(lead, child, root);
      responder = await service.signedIn('responder', 'auditor');
    });
    after(() => service.stop());

    const shown = async (path: string) => {
      const answer = await responder.open(path);
      expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
      return answer.text;
    };
    const treeIn = (page: string) => page.slice(page.indexOf('id="tree"'), page.indexOf('id="scope"'));

    it('is on the screen of each of its tasks: agent, tool server, state and a link to the others', async () => {
      for (const [task, other] of [
        [root, below],
        [below, root],
      ] as const) {
        const page = await shown(`/tasks/${task.taskId}`);
        const tree = treeIn(page);
        expect(tree).to.include(`href="/tasks/${other.taskId}"`).and.not.include(`href="/tasks/${task.taskId}"`);
        expect(tree.indexOf('Jira lead')).to.be.within(0, tree.indexOf('Jira reader'));
        expect(tree).to.include(', depth 1, live').and.include(', depth 2, live').and.include(', this task');
      }
      expect(await shown(`/tasks/${root.taskId}`)).to.include('<strong>Offered</strong> to');
      const delegated = await shown(`/tasks/${below.taskId}`);
      expect(delegated).to.include('<strong>Handed over</strong> by the agent of');
      expect(delegated).to.include(`<dt>Delegation depth</dt><dd>2, below <a href="/tasks/${root.taskId}">`);
    });

    it('says of the scopes of a delegated task what was offered, and claims nothing about the person', async () => {
      const scopesIn = (page: string) => page.slice(page.indexOf('class="scopes"'), page.indexOf('As it is stored'));
      const [own, delegated] = [
        scopesIn(await shown(`/tasks/${root.taskId}`)),
        scopesIn(await shown(`/tasks/${below.taskId}`)),
      ];
      expect(own)
        .to.include('<th scope="col">Person</th>')
        .and.include('Granted is what the person’s token, the agent’s');
      expect(delegated).to.include('<th scope="col">Offered</th>').and.not.include('erson');
      expect(delegated).to.include('Granted is what the offer, every task above, the registration of each agent');
    });

    it('is not there for a task that is alone', async () => {
      const alone = heldTask(await child.exchange());
      expect(await shown(`/tasks/${alone.taskId}`)).to.not.include('id="tree"');
      await service.mandate.admin('DELETE', `/admin/tasks/${alone.taskId}`);
    });

    it('counts the tasks below before a stop, also those of other agents, and as many end', async () => {
      expect(await shown(`/stop?task_id=${root.taskId}`)).to.include(
        '2 tasks end</strong> at once, this one and those below it:',
      );
      expect(await shown(`/stop?task_id=${below.taskId}`)).to.include('1 task ends</strong> at once: the next');
      expect(await shown(`/stop?agent_id=${lead.id}`)).to.include('2 tasks end');
      expect(await shown(`/stop?agent_id=${child.id}`)).to.include('1 task ends');
      expect(await shown('/stop?sponsor=ada')).to.include('2 tasks end');
      const { body } = await service.mandate.admin('DELETE', `/admin/agents/${lead.id}/tasks`);
      expect(body).to.include({ revoked_tasks: 2 });
      expect(await shown(`/stop?task_id=${root.taskId}`)).to.include('No live task');
      expect(treeIn(await shown(`/tasks/${root.taskId}`))).to.include('parent_revoked');
    });
  });
}
