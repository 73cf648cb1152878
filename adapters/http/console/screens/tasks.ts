/** *Tasks*: a list of the tasks with one state, the newest first, with the filters of `GET /admin/tasks`. */

import type { ListedTask } from '../../../../application/ports/tasks.ts';
import { fieldErrors } from '../../../../domain/field-error.ts';
import { parseAgentId, parseSponsorKey } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { parseListCursor } from '../../../../domain/list-cursor.ts';
import { type TaskState, taskStates } from '../../../../domain/tasks/task.ts';
import { parseState, STATE_SENTENCE } from '../../admin/reading-routes.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/requests.ts';
import { type Html, html } from '../../browser/html.ts';
import {
  AUDIENCE_SENTENCE,
  CURSOR,
  CURSOR_SENTENCE,
  FOREIGN_CURSOR_SENTENCE,
  parseAudience,
} from '../../message/query.ts';
import { delegationPath, screenPaths, withQuery } from '../addresses.ts';
import type { Page, Screen, ScreenContext, ScreenRequest } from '../context.ts';
import { AGENT_ID_SENTENCE, readFilters, refusedFilters, type Typed } from '../parts/filters.ts';
import { readSuggestions, type Suggestions, suggestions } from '../parts/suggestions.ts';
import { taskTable } from '../parts/task-table.ts';
import { count, pages } from '../parts/words.ts';

const FIELDS = ['sponsor', 'agent_id', 'audience', 'state'] as const;
type Filters = Typed<(typeof FIELDS)[number]>;

interface TasksView {
  /** The filters in the address of the screen. */
  readonly filters: Filters;
  readonly state: TaskState['kind'];
  readonly tasks: readonly ListedTask[];
  readonly isFirst: boolean;
  /** `undefined` on the last page. */
  readonly nextCursor: string | undefined;
  readonly suggested: Suggestions;
  readonly mayStop: boolean;
  readonly now: Instant;
}

export function renderTasks(view: TasksView): Html {
  const { filters, tasks, state, isFirst, nextCursor } = view;
  // A page of a search ends after many tasks read, so it may be empty although more follow.
  const goesOn = tasks.length === 0 && nextCursor !== undefined;
  const { state: _, ...about } = filters;
  return html`${filterForm(filters, view.suggested)}
<p class="summary">${goesOn ? 'None so far: the search goes on, on the next page.' : found(view)}${state === 'live' && html` <a href="${delegationPath(about)}">See them as a picture</a>`}</p>
${tasks.length > 0 && taskTable(tasks, view)}
${pages('Pages of tasks', {
  first: isFirst ? undefined : withQuery(screenPaths.tasks, filters),
  next: nextCursor && withQuery(screenPaths.tasks, { ...filters, [CURSOR]: nextCursor }),
})}`;
}

/** A page that is not the only one must not read like the number of all. */
function found({ tasks, state, isFirst, nextCursor }: TasksView): Html {
  const [amount, more] = [tasks.length, nextCursor !== undefined];
  if (!isFirst)
    return html`<strong>${count(amount, `older ${state} task`)}</strong>.${more && ' More are on the next page.'}`;
  if (more) return html`<strong>The newest ${count(amount, `${state} task`)}</strong>. More are on the next page.`;
  return html`<strong>${count(amount, `${state} task`)}</strong>, the newest first.`;
}

function filterForm(filters: Filters, suggested: Suggestions): Html {
  const input = (name: keyof Filters, label: string, list: keyof Suggestions) =>
    html`<p class="field"><label for="filter-${name}">${label}</label><input id="filter-${name}" name="${name}" value="${filters[name] ?? ''}" list="${list}" autocomplete="off" autocapitalize="off" spellcheck="false"></p>`;
  return html`<form class="filters" method="get" action="${screenPaths.tasks}" role="search" aria-label="Which tasks">
${input('sponsor', 'Person (sponsor key)', 'people')}
${input('agent_id', 'Agent', 'agents')}
${input('audience', 'Tool server', 'audiences')}
<p class="field"><label for="filter-state">State</label><select id="filter-state" name="state">${taskStates.map((state) => html`<option value="${state}"${filters.state === state && html` selected`}>${state}</option>`)}</select></p>
<p class="field"><button class="main">Show</button></p>
</form>
${suggestions(suggested, ['people', 'agents', 'audiences'])}`;
}

/** A page has no more tasks than a person can read. */
const TASKS_PER_PAGE = 100;

async function showTasks(context: ScreenContext, request: ScreenRequest): Promise<Page> {
  const query = readFilters(request, [...FIELDS, CURSOR]);
  const state = query.read('state', parseState, STATE_SENTENCE) ?? 'live';
  const filters = {
    state,
    sponsorKey: query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE),
    agentId: query.read('agent_id', parseAgentId, AGENT_ID_SENTENCE),
    audience: query.read('audience', parseAudience, AUDIENCE_SENTENCE),
  };
  const cursor = query.read(CURSOR, parseListCursor, CURSOR_SENTENCE);
  const { [CURSOR]: _, ...typed } = query.typed;
  const suggested = await readSuggestions(context);
  const refused = (errors: typeof query.errors) =>
    refusedFilters(errors, screenPaths.tasks, filterForm(typed, suggested));
  if (query.errors.length > 0) return refused(query.errors);
  const page = await context.admin.listTasks({ filters, limit: TASKS_PER_PAGE, cursor });
  if (page.kind === 'foreign_cursor') return refused(fieldErrors(CURSOR, FOREIGN_CURSOR_SENTENCE));
  return {
    body: renderTasks({
      filters: typed,
      state,
      tasks: page.items,
      isFirst: cursor === undefined,
      nextCursor: page.nextCursor,
      suggested,
      mayStop: context.may('responder'),
      now: context.now,
    }),
  };
}

export const tasksScreen = {
  path: screenPaths.tasks,
  title: 'Tasks',
  route: 'GET /admin/tasks',
  work: 'other',
  inNavigation: true,
  show: showTasks,
} as const satisfies Screen;
