/** A row for each scope: whether the person or the offer had it, the agent may have it, the request asked for it, and it was granted. */

import type { ShownTask } from '../../../../application/ports/tasks.ts';
import type { Agent } from '../../../../domain/agents/agent.ts';
import { parentOf } from '../../../../domain/tasks/task.ts';
import { type Html, html } from '../../browser/html.ts';
import { altered } from './altered.ts';
import { code, wide } from './words.ts';

export interface ScopeOrigins {
  readonly task: Pick<ShownTask, 'scope' | 'grantScope' | 'origin' | 'differences' | 'delegatedBy'>;
  /** The agent as it is registered now. */
  readonly agent: Pick<Agent, 'allowedScopes'> | undefined;
}

type Cell = 'yes' | 'no' | 'unknown';

export function scopeTable({ task, agent }: ScopeOrigins): Html {
  const { scope, grantScope, origin } = task;
  const differences = task.differences.filter(({ what }) => what === 'scope');
  const source = parentOf(task) === undefined ? OF_PERSON : OF_OFFER;
  const names = [
    ...new Set([...scope, ...(origin?.asked ?? []), ...(agent?.allowedScopes ?? []), ...(origin?.held ?? [])]),
  ];
  const rows = names.map((name) => {
    const isGranted = scope.includes(name);
    // A granted scope was in all three (specification "Exchange", rule 1).
    const from = (list: readonly string[] | undefined): Cell =>
      isGranted || list?.includes(name) ? 'yes' : list === undefined ? 'unknown' : 'no';
    const allowed: Cell =
      agent === undefined ? (isGranted ? 'yes' : 'unknown') : agent.allowedScopes.includes(name) ? 'yes' : 'no';
    const granted = isGranted && !grantScope.includes(name) ? NARROWED : mark(isGranted ? 'yes' : 'no');
    return html`<tr><th scope="row">${code(name)}</th><td>${mark(from(origin?.held))}</td><td>${mark(allowed)}</td><td>${mark(from(origin?.asked))}</td><td>${granted}</td></tr>`;
  });
  return html`${wide(
    'Where the scope came from',
    html`<table class="scopes"><thead><tr><th scope="col">Scope</th><th scope="col">${source.title}</th><th scope="col">Agent</th><th scope="col">Asked</th><th scope="col">Granted</th></tr></thead>
<tbody>${rows}</tbody></table>`,
  )}
<p class="quiet">Granted is what ${source.granted} and the request all had. The registration is shown as it is now.${
    origin === undefined &&
    differences.length === 0 &&
    ` This task began before the console was configured: what else ${source.had}, and what else was asked for, was not kept.`
  }</p>${differences.length > 0 && html`<p>${altered(task, 'scope')}</p>`}`;
}

function mark(cell: Cell): Html {
  switch (cell) {
    case 'yes':
      return html`<span class="yes">yes</span>`;
    case 'no':
      return html`<span class="quiet">no</span>`;
    case 'unknown':
      return html`<span class="quiet">not kept</span>`;
  }
}

const OF_PERSON = {
  title: 'Person',
  granted: 'the person’s token, the agent’s registration',
  had: 'the person had',
} as const;
/** A delegated task keeps the scopes of its offer: the person's token is not presented again. */
const OF_OFFER = {
  title: 'Offered',
  granted: 'the offer, every task above, the registration of each agent',
  had: 'was offered',
} as const;

const NARROWED = html`<span class="warned">given up by a renewal</span>`;
