/** The page of the MCP inspector, unmodified, in Chromium: it registers itself, or is known by the id of an agent. */

import { expect } from 'chai';
import { closeBrowser } from '../../support/browser.ts';
import { type Door, oidcProvider } from '../../support/clients/doors.ts';
import { type InspectorPage, inspectorPage, startInspector } from '../../support/clients/inspector.ts';
import { type PersonInBrowser, personInBrowser } from '../../support/clients/person.ts';
import { endTasks, registerProgram } from '../../support/clients/program.ts';
import { type Protection, startProtectedMcp } from '../../support/clients/protected-mcp.ts';
import { fieldsOf } from '../../support/mandate.ts';

const REDIRECT = 'http://127.0.0.1/oauth/callback';
const TOKEN_TTL = 'PT4M';
const UNTIL_EXPIRY_SECONDS = 241;
/** Its page is wider than a small window. */
const WINDOW = { viewport: { width: 1500, height: 1000 }, isMobile: false, hasTouch: false, deviceScaleFactor: 1 };

describe('The page of the MCP inspector', function () {
  this.timeout(300_000);
  let door: Door;
  let person: PersonInBrowser;
  let inspector: InspectorPage;
  before(async () => {
    door = await oidcProvider.start();
    person = await personInBrowser({ ...door, browserOptions: WINDOW });
    person.page.setDefaultTimeout(60_000);
    inspector = inspectorPage(person.page);
  });
  after(async () => {
    await person.close();
    await closeBrowser();
    await door.stop();
  });

  /** An MCP server, the inspector, and the agent that an operator registered for it. */
  async function ready(by: Protection, client_names?: readonly string[]) {
    const server = await startProtectedMcp(door.mandate, by);
    const agent = await registerProgram(door.mandate, server.endpoint, {
      redirect_uris: [REDIRECT],
      max_token_ttl: TOKEN_TTL,
      client_names,
    });
    const program = await startInspector(
      server.endpoint,
      client_names === undefined ? { oauth: { clientId: agent.id } } : {},
    );
    await person.page.goto(program.address);
    return {
      agent,
      server,
      async end() {
        await program.stop();
        await server.stop();
      },
    };
  }
  const resultOf = async (tool: string) => {
    await inspector.run(tool);
    return JSON.parse(await inspector.result());
  };

  it('registers itself at the tool-server library, and sees more scopes, a renewal and an end', async () => {
    const { mandate } = door;
    const { agent, end } = await ready('the tool-server library', ['MCP Inspector*']);
    const hasStarted = (scope: string) =>
      ['authorization.allowed', 'token.issued', 'task.authorized'].map((event) => [event, agent.id, scope]);
    try {
      // 1. The person starts the task, and takes a scope away.
      const started = await mandate.recorded(async () => {
        await inspector.connect();
        await person.answerWhenSent({ without: ['jira:comment'] });
        expect(await inspector.tools()).to.include.members(['read_issue', 'comment', 'delete_issue']);
      });
      expect(fieldsOf(started, 'event', 'agent_id', 'scope')).to.deep.equal(hasStarted('jira:read'));
      const first = await resultOf('read_issue');
      expect(first).to.deep.include({ agent: `agent:${agent.id}`, scope: ['jira:read'] });

      // 2. A tool needs the scope that is missing: the page says so, and asks the person.
      await inspector.run('comment');
      expect(await inspector.askForScopes()).to.match(/jira:read\s+already granted\s+jira:comment\s+new/i);
      expect(await person.answerWhenSent()).to.have.members(['jira:read', 'jira:comment']);
      await inspector.tools();
      const more = await resultOf('comment');
      expect(more.scope).to.have.members(['jira:read', 'jira:comment']);
      expect(more.task).not.to.equal(first.task);

      // 3. The token expires, and is renewed without the person.
      mandate.clock.advance(UNTIL_EXPIRY_SECONDS);
      const renewed = await mandate.recorded(async () => {
        expect((await resultOf('read_issue')).task).to.equal(more.task);
      });
      expect(fieldsOf(renewed, 'event', 'task_id')).to.deep.equal([['token.refreshed', more.task]]);

      // 4. An operator ends the task: it asks the person again.
      await endTasks(mandate, agent);
      const refused = await mandate.recorded(async () => {
        await inspector.run('delete_issue');
        await person.answerWhenSent();
        await inspector.tools();
      });
      expect(fieldsOf(refused, 'event', 'reason')[0]).to.deep.equal(['token.denied', 'task_revoked']);
      const again = await resultOf('delete_issue');
      expect(again.task).not.to.equal(more.task);
    } finally {
      await end();
    }
  });

  it('is known by the id of an agent at the guard, tells the person who refuses, and connects once they allow', async () => {
    const { mandate } = door;
    const { agent, end } = await ready('the guard');
    try {
      const refused = await mandate.recorded(async () => {
        await inspector.connect();
        await person.answerWhenSent({ answer: 'Refuse' });
        await person.page
          .getByText(/access_denied/)
          .first()
          .waitFor();
      });
      expect(fieldsOf(refused, 'event', 'decision', 'reason')).to.deep.equal([
        ['authorization.refused', 'deny', 'consent_refused'],
      ]);
      await inspector.connect();
      await person.answerWhenSent();
      await inspector.tools();
      expect(await resultOf('read_issue')).to.deep.include({ agent: `agent:${agent.id}` });
    } finally {
      await end();
    }
  });
});
