/** *Delegation*: who acts through what, as a picture and as a table. */

import type { DelegationQuestion } from '../../../../application/admin/find-delegations.ts';
import { type FieldError, fieldErrors } from '../../../../domain/field-error.ts';
import { parseAgentId, parseSponsorKey } from '../../../../domain/identifiers.ts';
import { type Instant, toShortText } from '../../../../domain/instant.ts';
import { parseRangeEnd, parseRangeStart } from '../../../../domain/ledger/time-range.ts';
import { taskStates } from '../../../../domain/tasks/task.ts';
import { POINT_SENTENCE } from '../../admin/audit-router.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/operator-router.ts';
import { parseState, STATE_SENTENCE } from '../../admin/reading-routes.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named, placeOf } from '../../browser/words.ts';
import { AUDIENCE_SENTENCE, parseAudience } from '../../message/query.ts';
import {
  agentPath,
  delegationPath,
  personPath,
  screenPaths,
  stopPath,
  taskPath,
  tasksPath,
  withQuery,
} from '../addresses.ts';
import type { Screen, ScreenContext, ShowScreen } from '../context.ts';
import { type DelegationGraph, type DelegationRow, delegationsOf } from '../delegation/graph.ts';
import { countedTasks, drawDelegations } from '../delegation/picture.ts';
import { AGENT_ID_SENTENCE, readFilters, refusedFilters, type Typed } from '../parts/filters.ts';
import { readSuggestions, type Suggestions, suggestions } from '../parts/suggestions.ts';
import { amount, count, wide } from '../parts/words.ts';

const FIELDS = ['sponsor', 'agent_id', 'audience', 'from', 'to', 'state'] as const;
type DelegationFilters = Typed<(typeof FIELDS)[number]>;

export interface DelegationView {
  /** The filters in the address of the screen. */
  readonly filters: DelegationFilters;
  readonly suggested: Suggestions;
  readonly graph: DelegationGraph;
  readonly rows: readonly DelegationRow[];
  /** How many of the tasks another agent handed over. */
  readonly handedOver: number;
  readonly tasks: number;
  /** Whether all tasks were read. Otherwise each number is that of the newest ones. */
  readonly isComplete: boolean;
  /** How many there are; `undefined` if they were not counted. */
  readonly total?: number | undefined;
  readonly mayStop: boolean;
  readonly now: Instant;
}

/** A longer table is not read. The list of tasks has pages. */
const MAX_ROWS = 200;

export function renderDelegation(view: DelegationView): Html {
  const { graph, rows, tasks } = view;
  return html`${scopeForm(view)}
<p class="summary">${summary(view)}</p>
${
  tasks > 0 &&
  html`<div class="scroll picture" role="region" aria-label="Picture of delegations" tabindex="0">${drawDelegations(graph, view)}</div>
<details class="more"><summary>The same as a table</summary>
${rowsTable(view)}
${rows.length > MAX_ROWS && html`<p class="quiet">And ${count(rows.length - MAX_ROWS, 'more row')}: narrow the search, or read the <a href="${screenPaths.tasks}">list of tasks</a>.</p>`}
</details>`
}`;
}

function summary({ tasks, handedOver, isComplete, total, graph, filters }: DelegationView): Insert {
  const hasWindow = filters.from !== undefined;
  const all = hasWindow ? `${count(tasks, 'task')} ran in this time` : count(tasks, `${filters.state ?? 'live'} task`);
  const newest = `The newest ${tasks.toLocaleString('en')}${total === undefined ? '' : ` of ${amount(total)}`}`;
  const what = isComplete
    ? all
    : `${newest} ${hasWindow ? 'tasks that ran in this time' : `${filters.state ?? 'live'} tasks`}`;
  const grouped = {
    nothing: '',
    tasks: ' Tasks of the same person, agent and tool server are one node.',
    smallest:
      ' Tasks of the same person, agent and tool server are one node, and so are the people, agents and tool servers with the fewest tasks.',
  }[graph.grouped];
  if (tasks === 0 && isComplete)
    return hasWindow ? 'No task ran in this time.' : `There is no ${filters.state ?? 'live'} task here.`;
  return html`<strong>${what}</strong>.${grouped}${handedOver > 0 && handedOverWords(handedOver)}${!isComplete && ' Older ones were not read, so each number is a part. Narrow the search to see all.'}`;
}

/** The lines say for whom an agent acts. Only the tree of a task says who handed it over. */
function handedOverWords(tasks: number): string {
  const were = tasks === 1 ? '1 was' : `${tasks.toLocaleString('en')} were`;
  return ` ${were} handed over by another agent. The lines do not show which one; the screen of a task draws its tree.`;
}

function scopeForm({ filters, suggested, now }: Pick<DelegationView, 'filters' | 'suggested' | 'now'>): Html {
  const input = (name: keyof DelegationFilters, label: string, more: Html) =>
    html`<p class="field"><label for="scope-${name}">${label}</label><input id="scope-${name}" name="${name}" value="${filters[name] ?? ''}" autocomplete="off" spellcheck="false"${more}></p>`;
  const isoHelp = html` placeholder="2026-11-24T02:00:00Z" aria-describedby="scope-times"`;
  const isNarrowed = Object.values(filters).some((value) => value !== undefined);
  const about = { sponsor: filters.sponsor, agent_id: filters.agent_id, audience: filters.audience };
  const recent = RECENT.map(([label, seconds]) => {
    const from = toShortText((Math.floor(now / 1_000_000 - seconds) * 1_000_000) as Instant);
    return html`<li><a href="${withQuery(screenPaths.delegation, { ...about, from })}">${label}</a></li>`;
  });
  return html`<form class="filters" method="get" action="${screenPaths.delegation}" role="search" aria-label="Scope of the picture">
${input('sponsor', 'Person', html` list="people"`)}
${input('agent_id', 'Agent', html` list="agents"`)}
${input('audience', 'Tool server', html` list="audiences"`)}
${input('from', 'Ran from', isoHelp)}
${input('to', 'until', isoHelp)}
<p class="field"><label for="scope-state">State</label><select id="scope-state" name="state"><option value="">${'live, or any in a time'}</option>${taskStates.map((state) => html`<option value="${state}"${filters.state === state && html` selected`}>${state}</option>`)}</select></p>
<p class="field"><button class="main">Show</button>${isNarrowed && html` <a class="button plain" href="${screenPaths.delegation}">All live tasks</a>`}</p>
<p class="quiet help" id="scope-times">Ran from and until: times in UTC. A day covers all of it.</p>
<ul class="shortcuts" aria-label="Tasks that ran">${recent}</ul>
</form>
${suggestions(suggested, ['people', 'agents', 'audiences'])}`;
}

const RECENT = [
  ['last 15 minutes', 900],
  ['last hour', 3600],
  ['last 24 hours', 86_400],
] as const;

function rowsTable({ rows, mayStop, isComplete, filters: { from, state } }: DelegationView): Html {
  return wide(
    'Table of delegations',
    html`<table>
<thead><tr><th scope="col">Person</th><th scope="col">Agent</th><th scope="col">Tool server</th><th scope="col">Tasks</th>${mayStop && html`<th scope="col">Kill switch</th>`}</tr></thead>
<tbody>${rows.slice(0, MAX_ROWS).map((row) => {
      const { sponsorKey, sponsor, agentId, displayName = agentId, audience, tasks, newest } = row;
      const about = { sponsor: sponsorKey, agent_id: agentId, audience };
      return html`<tr><td><a href="${personPath(sponsorKey)}">${named(sponsor)}</a></td>
<td><a href="${agentPath(agentId)}">${named(displayName)}</a></td>
<td><a href="${delegationPath({ audience })}">${named(placeOf(audience))}</a></td>
<td>${tasks === 1 && isComplete ? html`<a href="${taskPath(newest)}">1 task</a>` : html`<a href="${from === undefined ? tasksPath({ ...about, state }) : delegationPath({ ...about })}">${countedTasks(tasks, isComplete)}</a>`}</td>
${mayStop && html`<td><a href="${stopPath({ sponsor: sponsorKey })}">person</a>, <a href="${stopPath({ agent_id: agentId })}">agent</a>${tasks === 1 && isComplete && html`, <a href="${stopPath({ task_id: newest })}">task</a>`}</td>`}</tr>`;
    })}</tbody>
</table>`,
  );
}

const showDelegation: ShowScreen = async (context, request) => {
  const query = readFilters(request, FIELDS);
  const filters = {
    sponsorKey: query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE),
    agentId: query.read('agent_id', parseAgentId, AGENT_ID_SENTENCE),
    audience: query.read('audience', parseAudience, AUDIENCE_SENTENCE),
    state: query.read('state', parseState, STATE_SENTENCE),
  };
  const from = query.read('from', parseRangeStart, POINT_SENTENCE);
  const to = query.read('to', parseRangeEnd, POINT_SENTENCE);
  const errors = [...query.errors, ...wrongWindow(from, to)];
  const { typed } = query;
  const suggested = await readSuggestions(context);
  if (errors.length > 0) {
    const form = scopeForm({ filters: typed, suggested, now: context.now });
    return refusedFilters(errors, screenPaths.delegation, form);
  }
  const window = from === undefined ? undefined : { from, to: to ?? context.now };
  const found = await context.views.delegations({ ...filters, window });
  const { tasks } = found;
  const total = found.isComplete || window !== undefined ? undefined : await countAll(context, filters);
  // The reading ends at its limit, also if no task is left there.
  const isComplete = found.isComplete || total === tasks.length;
  return {
    body: renderDelegation({
      filters: typed,
      suggested,
      ...delegationsOf(tasks),
      tasks: tasks.length,
      isComplete,
      total,
      mayStop: context.may('responder'),
      now: context.now,
    }),
  };
};

/** Live tasks alone are counted, of all or by one name. */
async function countAll(
  { overview }: ScreenContext,
  {
    sponsorKey,
    agentId,
    audience,
    state = 'live',
  }: Omit<DelegationQuestion, 'window' | 'state'> & { readonly state?: string | undefined },
): Promise<number | undefined> {
  if (state !== 'live' || audience !== undefined || (sponsorKey !== undefined && agentId !== undefined))
    return undefined;
  const of = sponsorKey !== undefined ? { sponsorKey } : agentId !== undefined ? { agentId } : undefined;
  return (await overview.countLive(of)).tasks;
}

function wrongWindow(from: Instant | undefined, to: Instant | undefined): readonly FieldError[] {
  if (to === undefined) return [];
  if (from === undefined) return fieldErrors('from', 'Must be set where to is.');
  return to < from ? fieldErrors('to', 'Must not be before from.') : [];
}

export const delegationScreen = {
  path: screenPaths.delegation,
  title: 'Delegation',
  route: 'GET /admin/tasks',
  work: 'other',
  inNavigation: true,
  show: showDelegation,
} as const satisfies Screen;
