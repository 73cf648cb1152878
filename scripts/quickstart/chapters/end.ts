/** The agent ends its task, and introspection reports it at once. */

import { type Task, TaskOver } from '@mandate/agent';
import { discover } from '../agent.ts';
import { type Answer, postForm, readMember, text } from '../http.ts';
import { thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

export async function theAgentIsDone({ issuer }: Stage, terminal: Terminal, task: Task): Promise<void> {
  terminal.chapter('The agent is done, and ends its task');
  const { introspection } = await discover(issuer);
  // A new token, so that it does not expire between the two introspections.
  await task.narrow(task.scope);
  const token = await task.token();
  /** The request that a high-risk route sends. */
  const introspect = (): Promise<Answer> => postForm(introspection, { token });
  const before = await introspect();
  must(before.body.active === true, 'Before the revocation the token should be active.');
  terminal.confirm(`Introspection before: active, ${text(before, 'sub')} by ${readMember(before.body.act, 'sub')}.`);

  terminal.command('await task.end();');
  await task.end();
  const after = await introspect();
  must(after.body.active === false, 'After the revocation the token should not be active.');
  must(!('sub' in after.body), 'Introspection of an inactive token should name no person.');
  terminal.refused(
    `Introspection after: not active, revoked at ${text(after, 'revoked_at')}, because ${text(after, 'revocation_reason')}.`,
  );
  const over = await thrownBy(TaskOver, 'task.token()', () => task.token());
  terminal.refused(`task.token() from now on. ${over.name}: "${over.message}"`);
}
