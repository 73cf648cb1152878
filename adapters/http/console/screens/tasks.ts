/** *Tasks*: a list of the tasks with one state, the newest first, with the filters of `GET /admin/tasks`. */

import type { ListedTask } from '../../../../application/ports/tasks.ts';
import { fieldErrors } from '../../../../domain/field-error.ts';
import { parseAgentId, parseSponsorKey } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { parseListCursor } from '../../../../domain/list-cursor.ts';
import { type TaskState, taskStates } from '../../../../domain/tasks/task.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/operator-router.ts';
import { parseState, STATE_SENTENCE } from '../../admin/reading-routes.ts';
import { type Html, html } from '../../browser/html.ts';
import {
  AUDIENCE_SENTENCE,
  CURSOR,
  CURSOR_SENTENCE,
  FOREIGN_CURSOR_SENTENCE,
  parseAudience,
} from '../../message/query.ts';
import { delegationPath, screenPaths } from '../addresses.ts';
import type { Screen, ShowScreen } from '../context.ts';
import { AGENT_ID_SENTENCE, readFilters, refusedFilters, type Typed } from '../parts/filters.ts';
import { type Listing, listForm, listLinks, listSummary } from '../parts/listing.ts';
import { readSuggestions, type Suggestions } from '../parts/suggestions.ts';
import { taskTable } from '../parts/task-table.ts';

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

const LISTING: Listing = {
  path: screenPaths.tasks,
  plural: 'tasks',
  fields: [
    ['sponsor', 'Person (sponsor key)', 'people'],
    ['agent_id', 'Agent', 'agents'],
    ['audience', 'Tool server', 'audiences'],
  ],
  states: taskStates,
  anyState: false,
};

export function renderTasks(view: TasksView): Html {
  const { filters, tasks, state } = view;
  const { state: _, ...about } = filters;
  return html`${listForm(LISTING, filters, view.suggested)}
<p class="summary">${listSummary(tasks.length, `${state} task`, view)}${state === 'live' && html` <a href="${delegationPath(about)}">See them as a picture</a>`}</p>
${tasks.length > 0 && taskTable(tasks, view)}
${listLinks(LISTING, filters, view)}`;
}

/** A page has no more tasks than a person can read. */
const TASKS_PER_PAGE = 100;

const showTasks: ShowScreen = async (context, request) => {
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
    refusedFilters(errors, screenPaths.tasks, listForm(LISTING, typed, suggested));
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
};

export const tasksScreen = {
  path: screenPaths.tasks,
  title: 'Tasks',
  route: 'GET /admin/tasks',
  work: 'other',
  inNavigation: true,
  show: showTasks,
} as const satisfies Screen;
