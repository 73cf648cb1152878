/** Tasks in rows: who acts for whom, where, and until when. */

import type { ListedTask } from '../../../../application/ports/queries.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Html, html } from '../../pages/html.ts';
import { moment } from '../times.ts';

export function taskTable(
  tasks: readonly ListedTask[],
  { now, mayStop }: { readonly now: Instant; readonly mayStop: boolean },
): Html {
  if (tasks.length === 0) return html`<p class="quiet">No live task.</p>`;
  return html`<div class="scroll" id="tasks-table" role="group" aria-label="Tasks" tabindex="0"><table class="tasks"><thead><tr><th scope="col">Task</th><th scope="col">Agent</th><th scope="col">Person</th><th scope="col">Tool server</th><th scope="col">Ends</th>${mayStop && html`<th scope="col">Stop</th>`}</tr></thead>
<tbody>${tasks.map(
    (task) => html`<tr id="${task.taskId}">
<th scope="row"><code>${task.taskId}</code></th>
<td><bdi>${task.displayName ?? task.agentId}</bdi></td>
<td><a href="/people?sponsor=${encodeURIComponent(task.sponsorKey)}"><bdi>${task.sponsorKey}</bdi></a></td>
<td><bdi>${task.audience}</bdi></td>
<td>${moment(task.expiresAt, now)}</td>
${mayStop && html`<td><a class="button stop small" href="/stop?task_id=${task.taskId}">Stop<span class="hidden"> task ${task.taskId}</span></a></td>`}
</tr>`,
  )}</tbody></table></div>`;
}
