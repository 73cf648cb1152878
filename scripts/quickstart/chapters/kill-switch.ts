/**
 * The operator ends a task. A high-risk route refuses at once, a server that polls the status list within seconds, an
 * ordinary route when the token expires.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, type Task, TaskOver } from '@mandate/agent';
import { decodeJwt } from 'jose';
import { GRANTED } from '../authority.ts';
import type { GuardedServer } from '../guarded-server.ts';
import { type Answer, outcome, send } from '../http.ts';
import { LIST_AGE_MS } from '../jira-api.ts';
import { showToolRefusal } from '../refusal.ts';
import { LIST_TTL_SECONDS, type Stage } from '../stage.ts';
import { must, StoryBroke } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

const POLL_MS = 200;
/** Longer than the time until a renewal is due. */
const PATIENCE_MS = 15_000;

/** @returns the task that the operator ended */
export async function theOperatorPullsTheKillSwitch(
  { jira, jiraPolling, operator, accessLog }: Stage,
  terminal: Terminal,
  agent: Agent,
  subjectToken: string,
): Promise<Task> {
  terminal.chapter('The operator uses the kill switch');
  const task = await agent.startTask({ subjectToken, resource: jira.audience, scope: GRANTED });
  const token = await task.token();
  const headers = { authorization: `Bearer ${token}` };
  const reading = ({ address }: GuardedServer) => send(`${address}/issues/OPS-7`, { headers });
  // The first token of a list starts its polls.
  must((await reading(jiraPolling)).status === 200, 'The replica that polls should answer 200 before the kill.');
  const killed = await operator.kill(task.id);
  must(killed.status === 200, `The kill switch should answer 200, not ${outcome(killed)}.`);
  must(killed.body.revoked_tasks === 1, 'The kill switch should have revoked one task.');
  const killedAt = performance.now();
  terminal.say('The agent works again, in another task, and the operator ends that task:');
  terminal.command(`DELETE /admin/tasks/${task.id}`);

  const comment = await send(`${jira.address}/issues/OPS-7/comments`, { method: 'POST', headers });
  showToolRefusal(terminal, 'The high-risk route, at once', comment, '401 not_active');
  terminal.say('A replica of Jira polls the status list, one small signed document for all its tokens:');
  terminal.command(`createToolServer({ issuer, audience, statusList: { maxAgeMs: ${LIST_AGE_MS} } })`);
  const refused = await untilRefused(() => reading(jiraPolling));
  const seconds = ((performance.now() - killedAt) / 1000).toFixed(1);
  showToolRefusal(terminal, `Its ordinary route, ${seconds} s after the kill`, refused, '401 not_active');
  const still = await reading(jira);
  must(still.status === 200, `The ordinary route should still answer 200, not ${still.status}.`);
  terminal.confirm('The ordinary route of the Jira that does not poll, at that moment: 200, still.');
  terminal.say(
    'It validates the token locally, until the token expires (plus the allowed clock skew: usually a minute,',
    'none here). So tokens are short-lived. If that is too long, poll the list: a kill takes at most',
    `Service:StatusLists:Ttl plus maxAgeMs, here ${LIST_TTL_SECONDS + LIST_AGE_MS / 1000} s. Or mark the route highRisk.`,
  );

  const over = await untilOver(task);
  terminal.refused(`The agent, when its token is due for renewal. ${over.name}: "${over.message}"`);
  must(over.reason === 'task_revoked', `The reason should be task_revoked, not ${over.reason}.`);
  await pause(Math.max(0, (decodeJwt(token).exp ?? 0) * 1000 - Date.now()));
  showToolRefusal(terminal, 'The ordinary route, seconds later', await reading(jira), '401 expired');
  accessLog.take();
  return task;
}

async function untilRefused(read: () => Promise<Answer>): Promise<Answer> {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    const answer = await read();
    if (answer.status !== 200) return answer;
    await pause(POLL_MS / 4);
  }
  throw new StoryBroke('The replica that polls should have refused the token by now.');
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
