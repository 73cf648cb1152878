/** Denials of agents in the last ten minutes, for an auditor. Each count links to the records that it counts. */

import { type RecentDenials, recentDenials } from '../../../../application/admin/recent-denials.ts';
import type { AgentId } from '../../../../domain/identifiers.ts';
import { toShortText } from '../../../../domain/instant.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { agentPath, ledgerPath } from '../addresses.ts';
import type { ScreenContext } from '../context.ts';
import { code } from './words.ts';

type OfAgents = Pick<RecentDenials, 'minutes' | 'agents' | 'completeFrom'>;

/** @returns `undefined` for an operator who is no auditor, and reads no record */
export function readDenials(
  { may, views, now }: ScreenContext,
  agents?: readonly AgentId[],
): Promise<RecentDenials> | undefined {
  return may('auditor') ? recentDenials(views.ports.ledger, { now, agents }) : undefined;
}

/** @returns `3`, or `3 or more` if not all denials were counted */
export function denialsOf(agentId: AgentId, { minutes: [from], agents, completeFrom }: OfAgents): Html {
  const denials = agents.find((each) => each.agentId === agentId)?.denials ?? 0;
  const more = completeFrom !== undefined && ' or more';
  if (denials === 0) return html`<span class="quiet">0${more}</span>`;
  const since = from === undefined ? {} : { from: toShortText(from) };
  const path = ledgerPath({ ...since, decision: 'deny', agent_id: agentId });
  return html`<a href="${path}">${denials.toLocaleString('en')}</a>${more}`;
}

/** The agents with the most denials. */
export function denialsByAgent(denials: OfAgents): Insert {
  const { agents } = denials;
  if (agents.length === 0) return undefined;
  return html`<section aria-labelledby="denials-by-agent"><div class="heading"><h2 id="denials-by-agent">Denials by agent</h2><span class="quiet">in ${denials.minutes.length} minutes, the most first</span></div>
<ul class="points">${agents.map(({ agentId }) => html`<li>${denialsOf(agentId, denials)} <a href="${agentPath(agentId)}">${code(agentId)}</a></li>`)}</ul></section>`;
}
