/** A token is renewed while the agent works. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Task } from '@mandate/agent';
import type { AccessEvent } from '@mandate/tool-server';
import { accessTable } from '../access-log.ts';
import { TOKEN_SECONDS } from '../authority.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** Allows a few requests with each token. */
const BETWEEN_REQUESTS_MS = 900;
/** More than the agent can send before a renewal is due. */
const MOST_REQUESTS = 20;

export async function theAgentWorksThroughARenewal(
  { jira, accessLog }: Stage,
  terminal: Terminal,
  task: Task,
): Promise<void> {
  terminal.chapter('The agent continues while its token is renewed');
  terminal.say(
    `Tokens are short-lived: usually five minutes, ${TOKEN_SECONDS} seconds here. task.fetch() renews in time, after 60%`,
    'of their lifetime. The agent reads one issue after another:',
  );
  const events: AccessEvent[] = [];
  const tokens = () => new Set(events.map(({ jti }) => jti)).size;
  for (let nth = 1; tokens() < 2; nth += 1) {
    must(nth <= MOST_REQUESTS, 'The token should have been renewed by now.');
    if (nth > 1) await pause(BETWEEN_REQUESTS_MS);
    const answer = await task.fetch(`${jira.audience}/issues/OPS-${nth}`);
    must(answer.status === 200, `Reading issue ${nth} should answer 200, not ${answer.status}.`);
    events.push(...accessLog.take());
  }
  terminal.show(accessTable(events));
  must(
    events.every(({ task_id }) => task_id === task.id),
    'A renewed token should belong to the same task.',
  );
  terminal.confirm('Another token, the same task. No request was refused, and the agent needed no code for it.');
}
