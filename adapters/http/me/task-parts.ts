/** How a page shows a task, its agent and its scopes. */

import type { MyTask } from '../../../application/me/my-tasks.ts';
import { redirectHost } from '../../../domain/agents/redirect-uri.ts';
import type { AgentId, TaskId } from '../../../domain/identifiers.ts';
import { provesName, type TaskAuthorization } from '../../../domain/tasks/task-authorization.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import type { Language } from '../browser/language.ts';
import { fillPath } from '../browser/paths.ts';
import { scopeInWords } from '../browser/scope-words.ts';
import { named, placeOf, statedByAgent } from '../browser/words.ts';
import { agentName } from './agent-name.ts';
import { form } from './frame.ts';
import type { Texts } from './texts/en.ts';
import { moment } from './times.ts';
import type { PersonView } from './view.ts';

/** The field of a form that stops one agent. Its address names no agent, because servers and browsers keep addresses. */
export const AGENT_FIELD = 'agent_id';
/** Beside it, a task of that agent, by which the message afterwards names the agent. */
export const OF_AGENT_FIELD = 'of_task';
export const STOP_AGENT_PATH = '/me/agents/stop';
export const STOP_TASK_PATH = '/me/tasks/:taskId/stop';

export interface MoreOfTask {
  /** More fields of the form that stops the task. */
  readonly fields?: Html;
  /** More terms of its list, with their descriptions. */
  readonly terms?: Insert;
}

export function liveTask(
  view: PersonView,
  task: MyTask,
  words: Texts,
  language: Language,
  { fields, terms }: MoreOfTask = {},
): Html {
  const where = named(placeOf(task.audience));
  return html`<div class="task" id="${task.taskId}">
<dl>
<dt>${words.where}</dt><dd class="where">${where}</dd>
<dt>${words.may}</dt><dd><ul>${scopes(view, task, language).map((scope) => html`<li>${scope}</li>`)}</ul></dd>
${
  (task.purpose !== undefined || isAltered(task)) &&
  html`<dt>${words.purpose}</dt><dd>${purposeOf(task, words)}</dd>
`
}${startedByPerson(task, words)}<dt>${words.since}</dt><dd>${moment(language, task.startedAt, view.now)}</dd>
<dt>${words.until}</dt><dd>${moment(language, task.expiresAt, view.now)}</dd>
<dt>${words.renewed}</dt><dd>${task.renewedAt === undefined ? words.neverRenewed : moment(language, task.renewedAt, view.now)}</dd>
${terms}</dl>
${
  view.handsOver &&
  task.liveBelow > 0 &&
  html`<p class="quiet">${words.delegation.stopsBelow}</p>
`
}${form(view, fillPath(STOP_TASK_PATH, { taskId: task.taskId }), html`${fields}<button class="stop" id="stop-${task.taskId}">${words.stop}<span class="hidden">: ${words.stopWhat(agentName(task, words), where)}</span></button>`)}
</div>`;
}

export function stopAgent(
  view: PersonView,
  { agentId, task }: { readonly agentId: AgentId; readonly task: TaskId },
  label: Html,
): Html {
  return form(
    view,
    STOP_AGENT_PATH,
    html`<input type="hidden" name="${OF_AGENT_FIELD}" value="${task}"><button class="stop" id="agent-${agentId}" name="${AGENT_FIELD}" value="${agentId}">${label}</button>`,
  );
}

export function endedTasks(view: PersonView, tasks: readonly MyTask[], words: Texts, language: Language): Html {
  if (tasks.length === 0) return html`<p class="quiet">${words.nothingEnded}</p>`;
  const items = tasks.map(
    (task) => html`<li>
<p><strong>${agentName(task, words)}</strong> <span class="quiet">${named(placeOf(task.audience))}</span></p>
<p>${(task.reason && words.ended[task.reason]) ?? words.endedOtherwise}${task.endedAt !== undefined && html` · ${moment(language, task.endedAt, view.now)}`}</p>
<p class="quiet">${scopes(view, task, language).map((scope, at): Insert => [at > 0 && ' · ', scope])}</p>
${task.authorization !== undefined && html`<p class="quiet">${words.startedByYou}. ${answerWent(task.authorization, words)}</p>`}${quotedPurpose(task, words)}</li>`,
  );
  // Once for all of them: many tasks may have ended with the same words.
  const note = tasks.some(({ purpose }) => purpose !== undefined) && html`<p class="quiet">${words.statedByAgents}</p>`;
  return html`${note}<ul class="history">${items}</ul>`;
}

/** Where the person started the task themselves: what they allowed it to. */
function startedByPerson({ authorization }: MyTask, words: Texts): Insert {
  if (authorization === undefined) return undefined;
  return html`<dt>${words.startedByYou}</dt><dd>${answerWent(authorization, words)}</dd>
`;
}

function answerWent(authorization: TaskAuthorization, words: Texts): Html {
  const to = redirectHost(authorization.redirectUri);
  const place =
    to.kind === 'host'
      ? named(to.host)
      : to.kind === 'scheme'
        ? words.onDevice(named(`${to.scheme}:`))
        : words.onComputer;
  return html`${words.answerWent(place)}${!provesName(authorization) && html` <strong>${words.cannotProveName}</strong>`}`;
}

/** Not an archived record: its purpose could not be compared, and is left out. */
function isAltered({ purposeDiffers }: MyTask): boolean {
  return purposeDiffers !== undefined && purposeDiffers.how !== 'archived';
}

/** Empty if the agent stated none. */
export function purposeOf(task: MyTask, words: Texts): Insert {
  const isQuoted = task.purpose !== undefined && !isAltered(task);
  return isQuoted
    ? html`${quotedPurpose(task, words)}<p class="quiet">${words.statedByAgent}</p>`
    : quotedPurpose(task, words);
}

function quotedPurpose(task: MyTask, words: Texts): Insert {
  if (isAltered(task)) return html`<p class="warned">${words.purposeDiffers}</p>`;
  return task.purpose !== undefined && statedByAgent(task.purpose);
}

function scopes({ scopeWords }: PersonView, { scope }: MyTask, language: Language): readonly Html[] {
  return scope.map((name) => scopeInWords(scopeWords, name, language));
}
