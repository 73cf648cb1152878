/** The name of an agent. */

import type { MyAgent } from '../../../application/me/my-agents.ts';
import { type Html, html } from '../browser/html.ts';
import { named } from '../browser/words.ts';
import type { Texts } from './texts/en.ts';

export function agentName({ displayName, agentId }: Pick<MyAgent, 'displayName' | 'agentId'>, words: Texts): Html {
  return displayName === undefined ? html`${named(agentId)} (${words.removedAgent})` : named(displayName);
}
