/** A call that cannot be undone needs the person's yes, once. The tool server describes the call that it received. */

import { type Agent, ApprovalRequired } from '@mandate/agent';
import { type Browser, makeBrowser } from '../../../test/support/identity-provider/browser.ts';
import { passThePages } from '../../../test/support/identity-provider/sign-in.ts';
import { accessTable } from '../access-log.ts';
import { ada, GRANTED } from '../authority.ts';
import { read } from '../http.ts';
import { showToolRefusal, thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

export async function sheApprovesACall(
  { issuer, jira, accessLog }: Stage,
  terminal: Terminal,
  agent: Agent,
  subjectToken: string,
): Promise<void> {
  terminal.chapter('Ada says yes to one call, and no to another');
  terminal.say('Deleting cannot be undone. So Jira asks her before each such call, in its own words:');
  terminal.command("app.delete('/api/issues/:key', protect({ scope: ['jira:comment'], approval }), …)");
  const task = await agent.startTask({ subjectToken, resource: jira.audience, scope: GRANTED });
  const remove = (key: string) => task.fetch(`${jira.audience}/issues/${key}`, { method: 'DELETE' });

  const first = await thrownBy(ApprovalRequired, 'Deleting OPS-7', () => remove('OPS-7'));
  terminal.refused(`Deleting OPS-7. ${first.name}: "${first.message}"`);
  const browser = makeBrowser();
  const callback = await passThePages(browser, new URL(first.approvalUri), ada, `${issuer}/me/callback`);
  await browser.open(callback.href);
  await answer(browser, first, 'approve', 'Delete the issue OPS-7');
  terminal.confirm('She signs in, reads "Delete the issue OPS-7" on her page, and says yes.');
  const deleted = await read(await remove('OPS-7'));
  must(deleted.status === 200, `After the yes, deleting should answer 200, not ${deleted.status}.`);
  terminal.confirm('The agent repeats the same call: 200.');
  showToolRefusal(terminal, 'The same call again', await read(await remove('OPS-7')), '403 approval_spent');

  const second = await thrownBy(ApprovalRequired, 'Deleting OPS-8', () => remove('OPS-8'));
  await answer(browser, second, 'refuse', 'Delete the issue OPS-8');
  showToolRefusal(
    terminal,
    'Deleting OPS-8, to which she says no',
    await read(await remove('OPS-8')),
    '403 approval_refused',
  );
  terminal.show(accessTable(accessLog.take()));
  await task.end();
}

/** Answers on the page of the approval, with the form of that button. */
async function answer(
  browser: Browser,
  { approvalUri }: ApprovalRequired,
  decision: 'approve' | 'refuse',
  title: string,
): Promise<void> {
  const page = await browser.open(approvalUri);
  must(page.status === 200 && page.text.includes(title), `The page should say: ${title}.`);
  const fieldOf = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page.text)?.[1] ?? '';
  const form = { form_token: fieldOf('form_token'), commitment: fieldOf('commitment'), decision };
  const answered = await fetch(`${approvalUri}/answer`, {
    method: 'POST',
    headers: { cookie: browser.cookies(approvalUri), origin: new URL(approvalUri).origin, accept: 'text/html' },
    body: new URLSearchParams(form),
    redirect: 'manual',
  });
  must(answered.status === 303, `The form should lead back to the page with 303, not ${answered.status}.`);
}
