/** The live tasks of one agent in pages, each with its stop. */

import { html } from '../browser/html.ts';
import { pageLinks, pageOfPerson, texts } from './frame.ts';
import { agentName, liveTask, stopAgent } from './task-parts.ts';
import type { AgentPosition, AgentView, Language } from './view.ts';

/** The parameters of the address, and the fields of a form that leads back to it. */
export const POSITION_FIELDS = { of: 'task', after: 'after' } as const;

/** The path after the issuer's. Browsers and proxies keep addresses, so this one has a task of the agent, not its name. */
export function agentAddress({ of, after }: AgentPosition): string {
  const first = `/me/agent?${POSITION_FIELDS.of}=${of}`;
  return after === undefined ? first : `${first}&${POSITION_FIELDS.after}=${after}`;
}

/** @returns a whole document */
export function renderAgent(view: AgentView, language: Language): string {
  const words = texts[language];
  const { base, position, shown } = view;
  const { agent, live, tasks, nextAfter } = shown;
  const { of, after } = position;
  const name = agentName(agent, words);
  const back = html`<input type="hidden" name="${POSITION_FIELDS.of}" value="${of}">${after !== undefined && html`<input type="hidden" name="${POSITION_FIELDS.after}" value="${after}">`}`;
  const link = (to: AgentPosition, label: string) => [`${base}${agentAddress(to)}`, label] as const;
  const renewed = html`${pageLinks([[`${base}/me`, words.back]])}
<section aria-labelledby="live">
<div class="heading"><h2 id="live">${words.live}</h2>${live > 0 && html`<span class="quiet">${words.tasks(live)}</span>`}</div>
${live === 0 && html`<p class="card">${words.nothingOfAgent}</p>`}
${live > 0 && html`<div class="all">${stopAgent(view, agent, words.stopAgent(live, name))}</div>`}
<ul>${tasks.map((task) => html`<li class="card">${liveTask(view, task, words, language, back)}</li>`)}</ul>
</section>
${pageLinks([
  after === undefined ? undefined : link({ of, after: undefined }, words.first),
  nextAfter === undefined ? undefined : link({ of, after: nextAfter }, words.next),
])}`;
  return pageOfPerson(view, language, { title: words.title, heading: name, renewed });
}
