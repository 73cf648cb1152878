/** The same exchange with `@mandate/agent`, and the library's errors for scopes that are too wide. */

import { type Agent, createAgent, Refused, type Task } from '@mandate/agent';
import type { AgentIdentity } from '../agent.ts';
import { ASKED, GRANTED } from '../authority.ts';
import { thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** Shorter than the default, so that the quickstart fails soon if Mandate has stopped. */
const PATIENCE_MS = 5000;

interface AtWork {
  readonly agent: Agent;
  /** A task at the tool server Jira. */
  readonly task: Task;
}

export async function theAgentUsesALibrary(
  { issuer, jira }: Stage,
  terminal: Terminal,
  { id, kid, pem }: AgentIdentity,
  subjectToken: string,
): Promise<AtWork> {
  terminal.chapter('With @mandate/agent an exchange is two lines');
  terminal.command("const agent = createAgent({ issuer, agentId: 'triage-bot', key: { pem } });");
  terminal.command('const task = await agent.startTask({ subjectToken, resource, scope });');
  const agent = createAgent({
    issuer,
    agentId: id,
    key: { pem, kid },
    instance: 'quickstart-laptop',
    patienceMs: PATIENCE_MS,
  });
  const resource = jira.audience;
  const task = await agent.startTask({ subjectToken, resource, scope: ASKED });
  must(task.scope.join(' ') === GRANTED.join(' '), `The task should have ${GRANTED.join(' ')}, not ${task.scope}.`);
  terminal.confirm(`${task.id}, with ${task.scope.join(' ')}.`);

  terminal.say(
    'A scope that only one of the two has is refused. Ada holds calendar:read, the agent may not; for jira:admin it is',
    'the other way round.',
  );
  const calendar = await thrownBy(Refused, 'A task for calendar:read', () =>
    agent.startTask({ subjectToken, resource, scope: ['calendar:read'] }),
  );
  must(calendar.error === 'invalid_scope', `calendar:read should be an invalid_scope, not ${calendar.error}.`);
  terminal.refused(`A task for calendar:read. ${calendar.name}: "${calendar.message}"`);
  const wider = await thrownBy(Refused, 'A renewal with jira:admin', () => task.narrow([...GRANTED, 'jira:admin']));
  must(wider.error === 'invalid_scope', `jira:admin should be an invalid_scope, not ${wider.error}.`);
  terminal.refused(`A renewal that adds jira:admin. ${wider.name}: "${wider.message}"`);
  return { agent, task };
}
