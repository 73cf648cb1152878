/** The operator registers the agent with its maximum scopes. */

import { type AgentIdentity, makeIdentity } from '../agent.ts';
import { AGENT_SCOPES } from '../authority.ts';
import { outcome, text } from '../http.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

export async function anOperatorRegistersAnAgent(
  { operator, jira, jiraMcp }: Stage,
  terminal: Terminal,
): Promise<AgentIdentity> {
  terminal.chapter('An operator registers an agent');
  terminal.say(
    'The agent has its own key pair. The operator registers its public key, and its maximum rights: at the servers',
    `${jira.audience} and ${jiraMcp.audience}, and never more than ${AGENT_SCOPES.join(', ')}.`,
    'The registration alone gives the agent no authority.',
  );
  const identity = makeIdentity();
  const audiences = [jira.audience, jiraMcp.audience];
  const answer = await operator.register(identity, { scopes: AGENT_SCOPES, audiences });
  must(answer.status === 201, `Registering the agent should answer 201, not ${outcome(answer)}.`);
  terminal.confirm(`${text(answer, 'agent_id')} is registered.`);
  return identity;
}
