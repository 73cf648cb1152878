/** A tool server with `@mandate/tool-server` allows some requests, and refuses others. */

import type { Task } from '@mandate/agent';
import { accessTable } from '../access-log.ts';
import { read, send, text } from '../http.ts';
import { showToolRefusal } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

export async function aToolServerChecksEveryRequest(
  { jira, accessLog }: Stage,
  terminal: Terminal,
  task: Task,
): Promise<void> {
  terminal.chapter('A tool server checks every request');
  terminal.say(`Jira, at ${jira.audience}, is an Express app guarded by @mandate/tool-server. Two routes:`);
  terminal.command("app.get('/api/issues/:key', protect({ scope: ['jira:read'] }), …)");
  terminal.command("app.post('/api/issues/:key/comments', protect({ scope: ['jira:comment'], highRisk: true }), …)");
  terminal.say('The first checks the token locally. The second is high-risk, so it also asks Mandate each time.');

  const issue = `${jira.audience}/issues/OPS-7`;
  const comment = async () => read(await task.fetch(`${issue}/comments`, { method: 'POST' }));
  const seen = await read(await task.fetch(issue));
  must(seen.status === 200, `Reading an issue should answer 200, not ${seen.status}.`);
  terminal.confirm(`Reading: 200, for ${text(seen, 'readFor')} by ${text(seen, 'readBy')}.`);
  const written = await comment();
  must(written.status === 201, `Writing a comment should answer 201, not ${written.status}.`);
  terminal.confirm(`Writing a comment: 201, for ${text(written, 'writtenFor')}.`);

  showToolRefusal(terminal, 'Without a token', await send(issue), '401 missing_token');
  terminal.say('From now on the agent only reads. It gives up commenting permanently: task.narrow(["jira:read"])');
  await task.narrow(['jira:read']);
  showToolRefusal(terminal, 'Writing a comment', await comment(), '403 insufficient_scope');
  terminal.say('Each decision is one event in the log of the server. An event never contains a token:');
  terminal.show(accessTable(accessLog.take()));
}
