/** How a page shows a task, its agent and its scopes. */

import type { MyAgent } from '../../../application/me/my-agents.ts';
import type { MyTask } from '../../../application/me/my-tasks.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import { isolated, named, placeOf, statedByAgent } from '../browser/words.ts';
import { form } from './frame.ts';
import type { Texts } from './texts/texts.ts';
import { moment } from './times.ts';
import type { Language, PersonView } from './view.ts';

/** The field of a form that stops one agent. Its address names no agent, because servers and browsers keep addresses. */
export const AGENT_FIELD = 'agent_id';

export function agentName({ displayName, agentId }: Pick<MyAgent, 'displayName' | 'agentId'>, words: Texts): Html {
  return displayName === undefined ? html`${named(agentId)} (${words.removedAgent})` : named(displayName);
}

/** @param fields more fields of the form that stops the task */
export function liveTask(view: PersonView, task: MyTask, words: Texts, language: Language, fields?: Html): Html {
  const where = named(placeOf(task.audience));
  return html`<div class="task" id="${task.taskId}">
<dl>
<dt>${words.where}</dt><dd class="where">${where}</dd>
<dt>${words.may}</dt><dd><ul>${scopes(view, task, language).map((scope) => html`<li>${scope}</li>`)}</ul></dd>
${
  (task.purpose !== undefined || isAltered(task)) &&
  html`<dt>${words.purpose}</dt><dd>${purposeOf(task, words)}</dd>
`
}<dt>${words.since}</dt><dd>${moment(language, task.startedAt, view.now)}</dd>
<dt>${words.until}</dt><dd>${moment(language, task.expiresAt, view.now)}</dd>
<dt>${words.renewed}</dt><dd>${task.renewedAt === undefined ? words.neverRenewed : moment(language, task.renewedAt, view.now)}</dd>
</dl>
${form(view, `/me/tasks/${encodeURIComponent(task.taskId)}/stop`, html`${fields}<button class="stop" id="stop-${task.taskId}">${words.stop}<span class="hidden">: ${words.stopWhat(agentName(task, words), where)}</span></button>`)}
</div>`;
}

export function stopAgent(view: PersonView, agent: Pick<MyAgent, 'agentId'>, label: Html): Html {
  const { agentId } = agent;
  return form(
    view,
    '/me/agents/stop',
    html`<button class="stop" id="agent-${agentId}" name="${AGENT_FIELD}" value="${agentId}">${label}</button>`,
  );
}

export function endedTasks(view: PersonView, tasks: readonly MyTask[], words: Texts, language: Language): Html {
  if (tasks.length === 0) return html`<p class="quiet">${words.nothingEnded}</p>`;
  const items = tasks.map(
    (task) => html`<li>
<p><strong>${agentName(task, words)}</strong> <span class="quiet">${named(placeOf(task.audience))}</span></p>
<p>${(task.reason && words.ended[task.reason]) ?? words.endedOtherwise}${task.endedAt !== undefined && html` · ${moment(language, task.endedAt, view.now)}`}</p>
<p class="quiet">${scopes(view, task, language).map((scope, at): Insert => [at > 0 && ' · ', scope])}</p>
${purposeOf(task, words)}</li>`,
  );
  return html`<ul class="history">${items}</ul>`;
}

/** Not an archived record: its purpose could not be compared, and is left out. */
function isAltered({ purposeDiffers }: MyTask): boolean {
  return purposeDiffers !== undefined && purposeDiffers.how !== 'archived';
}

function purposeOf(task: MyTask, words: Texts): Insert {
  if (isAltered(task)) return html`<p class="warned">${words.purposeDiffers}</p>`;
  return task.purpose !== undefined && html`${statedByAgent(task.purpose)}<p class="quiet">${words.statedByAgent}</p>`;
}

/** A browser may translate the operator's sentence for a scope, but not the name of a scope without one. */
function scopes({ scopeWords }: PersonView, { scope }: MyTask, language: Language): readonly Html[] {
  return scope.map((name) => {
    const known = scopeWords.get(name);
    const words = typeof known === 'string' ? known : (known?.[language] ?? known?.en);
    return words === undefined ? named(name) : isolated(words);
  });
}
