/** The person opens her page, sees what acts for her, and stops one task. The agent learns it at its next renewal. */

import { type Agent, TaskOver } from '@mandate/agent';
import { makeBrowser } from '../../../test/support/identity-provider/browser.ts';
import { passThePages } from '../../../test/support/identity-provider/sign-in.ts';
import { ada, GRANTED } from '../authority.ts';
import { thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

export async function sheStopsATask(
  { issuer, jira }: Stage,
  terminal: Terminal,
  agent: Agent,
  subjectToken: string,
): Promise<void> {
  terminal.chapter('Ada sees what acts for her, and stops it');
  const task = await agent.startTask({ subjectToken, resource: jira.audience, scope: GRANTED });
  const address = `${issuer}/me`;
  terminal.say(
    `She opens ${address}, and signs in at her identity provider, as on any other site. The agent's`,
    'access token does not open this page.',
  );
  const agents = await fetch(address, { headers: { authorization: `Bearer ${subjectToken}` } });
  must(agents.status === 401, `The page should answer the agent's token with 401, not ${agents.status}.`);
  const page = await openHerPage(issuer);
  must(page.text.includes(task.id) && page.text.includes('Comment in your name'), 'The page should show the task.');
  terminal.confirm(`The page shows ${task.id}, at Jira: "Read your issues", "Comment in your name".`);
  await page.stop(task.id, terminal);
  const over = await thrownBy(TaskOver, 'task.narrow()', () => task.narrow(GRANTED));
  terminal.refused(`The agent's next renewal. ${over.name}: "${over.message}"`);
  terminal.confirm('The ledger will say that it was she: sponsor_stopped.');
}

export interface HerPage {
  readonly text: string;
  /** Presses the button of the task. */
  stop(taskId: string, terminal: Terminal): Promise<void>;
  /** Presses the button that ends all tasks of the agent. */
  stopAgent(agentId: string, terminal: Terminal): Promise<void>;
}

/** Signs Ada in at `/me`. */
export async function openHerPage(issuer: string): Promise<HerPage> {
  const address = `${issuer}/me`;
  const browser = makeBrowser();
  const callback = await passThePages(browser, new URL(address), ada, `${issuer}/me/callback`);
  const { text } = await browser.open(callback.href);
  const formToken = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';
  async function press(path: string, terminal: Terminal, fields: Readonly<Record<string, string>> = {}) {
    terminal.command(`POST ${path}`);
    const stopped = await fetch(`${issuer}${path}`, {
      method: 'POST',
      headers: { cookie: browser.cookies(address), origin: issuer, accept: 'text/html' },
      body: new URLSearchParams({ form_token: formToken, ...fields }),
      redirect: 'manual',
    });
    must(stopped.status === 303, `The form should lead back to the page with 303, not ${stopped.status}.`);
  }
  return {
    text,
    stop: (taskId, terminal) => press(`/me/tasks/${taskId}/stop`, terminal),
    stopAgent: (agentId, terminal) => press('/me/agents/stop', terminal, { agent_id: agentId }),
  };
}
