/** The operator blocks a person, then lifts the block. */

import { type Agent, Refused } from '@mandate/agent';
import { ada, GRANTED } from '../authority.ts';
import { outcome } from '../http.ts';
import { thrownBy } from '../refusal.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

export async function theOperatorBlocksHer(
  { jira, operator }: Stage,
  terminal: Terminal,
  agent: Agent,
  subjectToken: string,
): Promise<void> {
  terminal.chapter('The operator blocks Ada');
  terminal.say('Her laptop was stolen, and the thief has her access token:');
  terminal.command(`PUT /admin/sponsors/${ada.username}/block`);
  const start = () => agent.startTask({ subjectToken, resource: jira.audience, scope: GRANTED });
  const blocked = await operator.block(ada.username);
  must(blocked.status === 200, `The block should answer 200, not ${outcome(blocked)}.`);
  must(blocked.body.revoked_tasks === 1, 'The block should have ended her one live task.');
  terminal.confirm('She is blocked. Her one live task, from the first exchange, is revoked.');
  const refused = await thrownBy(Refused, 'A task for a blocked person', start);
  must(refused.reason === 'sponsor_disabled', `The reason should be sponsor_disabled, not ${refused.reason}.`);
  terminal.refused(`A new task for her. ${refused.name}: "${refused.message}"`);

  const lifted = await operator.unblock(ada.username);
  must(lifted.status === 204, `Lifting the block should answer 204, not ${outcome(lifted)}.`);
  const task = await start();
  terminal.confirm(`The block is lifted: ${task.id} was started. Revoked tasks stay revoked.`);
  await task.end();
}
