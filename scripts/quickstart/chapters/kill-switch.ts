/** The operator ends a task. A high-risk route refuses at once, an ordinary route when the token expires. */

import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, type Task, TaskOver } from '@mandate/agent';
import { decodeJwt } from 'jose';
import { GRANTED } from '../authority.ts';
import { outcome, read, send } from '../http.ts';
import { showToolRefusal } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must, StoryBroke } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

const POLL_MS = 200;
/** Longer than the time until a renewal is due. */
const PATIENCE_MS = 15_000;

/** @returns the task that the operator ended */
export async function theOperatorPullsTheKillSwitch(
  { jira, operator, accessLog }: Stage,
  terminal: Terminal,
  agent: Agent,
  subjectToken: string,
): Promise<Task> {
  terminal.chapter('The operator uses the kill switch');
  const task = await agent.startTask({ subjectToken, resource: jira.audience, scope: GRANTED });
  const token = await task.token();
  const killed = await operator.kill(task.id);
  must(killed.status === 200, `The kill switch should answer 200, not ${outcome(killed)}.`);
  must(killed.body.revoked_tasks === 1, 'The kill switch should have revoked one task.');
  terminal.say('The agent works again, in another task, and the operator ends that task:');
  terminal.command(`DELETE /admin/tasks/${task.id}`);

  const issue = `${jira.audience}/issues/OPS-7`;
  const headers = { authorization: `Bearer ${token}` };
  const comment = await send(`${issue}/comments`, { method: 'POST', headers });
  showToolRefusal(terminal, 'The high-risk route, at once', comment, '401 not_active');
  const reading = await read(await fetch(issue, { headers }));
  must(reading.status === 200, `The ordinary route should still answer 200, not ${reading.status}.`);
  terminal.confirm('The ordinary route: 200, still.');
  terminal.say(
    'It validates the token locally, until the token expires (plus the allowed clock skew:',
    'usually a minute, none here). So tokens are short-lived. If that is too long for a route, mark it highRisk.',
  );

  const over = await untilOver(task);
  terminal.refused(`The agent, when its token is due for renewal. ${over.name}: "${over.message}"`);
  must(over.reason === 'task_revoked', `The reason should be task_revoked, not ${over.reason}.`);
  await pause(Math.max(0, (decodeJwt(token).exp ?? 0) * 1000 - Date.now()));
  showToolRefusal(terminal, 'The ordinary route, seconds later', await send(issue, { headers }), '401 expired');
  accessLog.take();
  return task;
}

async function untilOver(task: Task): Promise<TaskOver> {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    try {
      await task.token();
    } catch (error) {
      if (error instanceof TaskOver) return error;
      throw error;
    }
    await pause(POLL_MS);
  }
  throw new StoryBroke('The agent should have learned by now that its task has ended.');
}
