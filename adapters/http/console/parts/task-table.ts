/** Tasks in rows: who acts for whom, where, and until when. The stop comes first, because a phone shows no more than that. */

import type { ListedTask } from '../../../../application/ports/tasks.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Html, html } from '../../browser/html.ts';
import { agentPath, personPath, stopPath, taskPath } from '../addresses.ts';
import { moment } from './times.ts';

export function taskTable(
  tasks: readonly ListedTask[],
  { now, mayStop }: { readonly now: Instant; readonly mayStop: boolean },
): Html {
  if (tasks.length === 0) return html`<p class="quiet">No live task.</p>`;
  return html`<div class="scroll" id="tasks-table" role="group" aria-label="Tasks" tabindex="0"><table class="tasks"><thead><tr>${mayStop && html`<th scope="col">Stop</th>`}<th scope="col">Agent</th><th scope="col">Person</th><th scope="col">Tool server</th><th scope="col">Ends</th><th scope="col">Task</th></tr></thead>
<tbody>${tasks.map(
    (task) => html`<tr id="${task.taskId}">
${mayStop && html`<td><a class="button stop small" href="${stopPath({ task_id: task.taskId })}">Stop<span class="hidden"> task ${task.taskId}</span></a></td>`}
<td>${task.displayName === undefined ? html`<bdi>${task.agentId}</bdi> (removed)` : html`<a href="${agentPath(task.agentId)}"><bdi>${task.displayName}</bdi></a>`}</td>
<td><a href="${personPath(task.sponsorKey)}"><bdi>${task.sponsorKey}</bdi></a></td>
<td><bdi>${task.audience}</bdi></td>
<td>${moment(task.expiresAt, now)}</td>
<th scope="row"><a href="${taskPath(task.taskId)}"><code>${task.taskId}</code></a></th>
</tr>`,
  )}</tbody></table></div>`;
}
