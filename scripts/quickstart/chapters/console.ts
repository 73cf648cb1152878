/** An operator signs in at the console, sees the task of the agent, and stops it. */

import { type Agent, TaskOver } from '@mandate/agent';
import { makeBrowser } from '../../../test/support/identity-provider/browser.ts';
import { passThePages } from '../../../test/support/identity-provider/sign-in.ts';
import { AGENT_ID, ada, GRANTED, olga } from '../authority.ts';
import { thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** The operator writes it into the form. The ledger keeps its hash, and auditors read it. */
const REASON = 'It comments on the wrong issues';

export async function anOperatorStopsATask(
  { consoleOrigin, jira }: Stage,
  terminal: Terminal,
  agent: Agent,
  subjectToken: string,
): Promise<void> {
  terminal.chapter('An operator sees the task at the console, and stops it');
  const task = await agent.startTask({ subjectToken, resource: jira.audience, scope: GRANTED });
  terminal.say(`${olga.name} opens the console, ${consoleOrigin}, and signs in. Her role comes from the provider.`);
  const browser = makeBrowser();
  const callback = await passThePages(browser, new URL(consoleOrigin), olga, `${consoleOrigin}/callback`);
  await browser.open(callback.href);
  const shown = await browser.open(`${consoleOrigin}/tasks/${task.id}`);
  must(shown.status === 200 && shown.text.includes(ada.username), 'The console should show the task and its person.');
  terminal.confirm(`The console shows ${task.id}: ${AGENT_ID} for ${ada.username}.`);

  const asked = await browser.open(`${consoleOrigin}/stop?task_id=${task.id}`);
  terminal.say(`She presses "Stop", types the name of the agent, and writes why: "${REASON}".`);
  const formToken = /name="form_token" value="([^"]+)"/.exec(asked.text)?.[1] ?? '';
  const stopped = await fetch(`${consoleOrigin}/stop/task`, {
    method: 'POST',
    headers: { cookie: browser.cookies(consoleOrigin), origin: consoleOrigin, accept: 'text/html' },
    body: new URLSearchParams({ form_token: formToken, task_id: task.id, typed: AGENT_ID, reason: REASON }),
    redirect: 'manual',
  });
  must(stopped.status === 303, `The form should lead back to a page with 303, not ${stopped.status}.`);
  const over = await thrownBy(TaskOver, 'task.narrow()', () => task.narrow(GRANTED));
  terminal.refused(`The agent's next renewal. ${over.name}: "${over.message}"`);
  terminal.confirm('The ledger will say who stopped it, and has the hash of her reason.');
}
