/**
 * Tasks in rows: who acts for whom, where, and until when. The stop button comes first, because a phone shows only the first
 * columns.
 */

import type { ListedTask } from '../../../../application/ports/tasks.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named } from '../../browser/words.ts';
import { agentPath, personPath, stopPath, taskPath } from '../addresses.ts';
import { moment } from './times.ts';
import { code, wide } from './words.ts';

interface TaskTable {
  readonly now: Instant;
  readonly mayStop: boolean;
  /** The state of all these tasks; `live` by default. */
  readonly state?: ListedTask['state']['kind'] | undefined;
}

export function taskTable(tasks: readonly ListedTask[], { now, mayStop, state = 'live' }: TaskTable): Html {
  if (tasks.length === 0) return html`<p class="quiet">No ${state} task.</p>`;
  const hasStop = mayStop && state === 'live';
  return wide(
    'Tasks',
    html`<table class="tasks"><thead><tr>${hasStop && html`<th scope="col">Stop</th>`}<th scope="col">Agent</th><th scope="col">Person</th><th scope="col">Tool server</th><th scope="col">${state === 'live' ? 'Ends' : 'Ended'}</th><th scope="col">Task</th></tr></thead>
<tbody>${tasks.map(
      (task) => html`<tr id="${task.taskId}">
${hasStop && html`<td><a class="button stop small" href="${stopPath({ task_id: task.taskId })}">Stop<span class="hidden"> task ${task.taskId}</span></a></td>`}
<td>${task.displayName === undefined ? html`${named(task.agentId)} (removed)` : html`<a href="${agentPath(task.agentId)}">${named(task.displayName)}</a>`}</td>
<td><a href="${personPath(task.sponsorKey)}">${named(task.sponsorKey)}</a></td>
<td class="address">${named(task.audience)}</td>
<td>${endOf(task, now)}</td>
<th scope="row"><a href="${taskPath(task.taskId)}"><code>${task.taskId}</code></a></th>
</tr>`,
    )}</tbody></table>`,
    'tasks-table',
  );
}

function endOf({ state, expiresAt }: ListedTask, now: Instant): Insert {
  if (state.kind === 'live') return moment(expiresAt, now);
  return html`${moment(state.at, now)}${state.kind === 'revoked' && html` ${code(state.reason)}`}`;
}
