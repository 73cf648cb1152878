/** Suggests the names of the newest live tasks in entry fields. The browser shows those that match the typed text. */

import { visibleWords } from '../../../../domain/visible.ts';
import { type Html, html } from '../../browser/html.ts';
import type { ScreenContext } from '../context.ts';

export interface Suggestions {
  readonly people: readonly string[];
  readonly agents: readonly string[];
  readonly tasks: readonly string[];
  readonly audiences: readonly string[];
}

/** The number of tasks whose names are suggested. A longer list would make every page larger. */
const NEWEST = 200;

export async function readSuggestions({ admin }: ScreenContext): Promise<Suggestions> {
  const page = await admin.listTasks({ filters: { state: 'live' }, limit: NEWEST, cursor: undefined });
  const tasks = page.kind === 'page' ? page.items : [];
  return {
    people: distinct(tasks.map(({ sponsorKey }) => sponsorKey)),
    agents: distinct(tasks.map(({ agentId }) => agentId)),
    tasks: tasks.map(({ taskId }) => taskId),
    audiences: distinct(tasks.map(({ audience }) => audience)),
  };
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

/** Lists that fields of the page name (`list="people"`). */
export function suggestions(suggested: Suggestions, which: readonly (keyof Suggestions)[]): Html {
  return html`${which.map((name) => suggestionList(name, suggested[name]))}`;
}

export function suggestionList(id: string, names: readonly string[]): Html {
  return html`<datalist id="${id}">${names.map(suggestion)}</datalist>`;
}

/** The browser shows the value, and below it the label if there is one: hidden characters by their numbers. */
function suggestion(name: string): Html {
  const label = visibleWords(name);
  return html`<option value="${name}"${label !== name && html` label="${label}"`}></option>`;
}
