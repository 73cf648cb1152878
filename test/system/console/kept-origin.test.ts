import { expect } from 'chai';
import { parseTaskId } from '../../../domain/identifiers.ts';
import { startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import { startMandate } from '../../support/mandate.ts';

for (const database of databasesByLength) {
  describe(`the origin of a task's scope, on ${database.name}`, function () {
    this.timeout(120_000);

    /** The stored task after an exchange that asks for two scopes, one of which the agent may not have. */
    const exchanged = async (hasConsole: boolean) => {
      const fresh = await database.fresh();
      const own = { ...database, fresh: async () => fresh };
      const service = hasConsole ? await startConsole(own) : undefined;
      const mandate = service?.mandate ?? (await startMandate({ database: own }));
      const agent = await mandate.agent({ allowed_scopes: ['jira:read'] });
      const answer = await agent.exchangeFor({ scope: 'jira:read mail:send' }, { scope: 'jira:read jira:admin' });
      const storage = await fresh.open();
      const taskId = parseTaskId(String(answer.body.task_id));
      const task = taskId && (await storage.tasks.findListed(taskId, mandate.clock.now()));
      await storage.close();
      await (service ?? mandate).stop();
      return { task, answer: answer.body };
    };

    it('is kept with the console, beside the granted scope', async () => {
      const { task, answer } = await exchanged(true);
      expect(answer.scope).to.equal('jira:read');
      expect(task?.scope).to.deep.equal(['jira:read']);
      expect(task?.origin).to.deep.equal({ held: ['jira:read', 'mail:send'], asked: ['jira:read', 'jira:admin'] });
    });

    it('is not kept without the console', async () => {
      expect((await exchanged(false)).task).to.not.have.property('origin');
    });
  });
}
