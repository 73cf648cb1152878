/** The kill switch: says first how many tasks end and what keeps working until when, then asks for a name and a reason. */

import type { StopOutcome } from '../../../../application/admin/stop-tasks.ts';
import type { ListedTask, LiveTaskCount } from '../../../../application/ports/tasks.ts';
import { fieldErrors } from '../../../../domain/field-error.ts';
import {
  type AgentId,
  parseAgentId,
  parseSponsorKey,
  parseTaskId,
  type SponsorKey,
} from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { worksUntil } from '../../../../domain/tasks/lifetime.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/requests.ts';
import { type Html, html } from '../../browser/html.ts';
import { atMost } from '../../browser/times.ts';
import { form } from '../../browser/words.ts';
import { agentPath, personPath, screenPaths, stopPath } from '../addresses.ts';
import type { ChangeByForm, FormResult, Page, Screen, ScreenContext, ShowPage } from '../context.ts';
import { notFound, readFilters, refusedFilters } from '../parts/filters.ts';
import { reasonField, sponsorIn, typedNameField, typedWrong } from '../parts/form-fields.ts';
import { moment } from '../parts/times.ts';
import { amount } from '../parts/words.ts';

/** Whose tasks end. */
export type StopTarget =
  | { readonly kind: 'task'; readonly task: ListedTask }
  | { readonly kind: 'agent'; readonly agentId: AgentId; readonly displayName: string }
  | { readonly kind: 'person'; readonly sponsorKey: SponsorKey };

interface StopView {
  readonly now: Instant;
  readonly target: StopTarget;
  /** What ends. */
  readonly live: LiveTaskCount;
  /** Seconds until a tool server with status lists refuses an ended task; `undefined` without them. */
  readonly statusLists: number | undefined;
  readonly formToken: string;
}

/** Without a target: the operator says whose tasks end. */
function renderStopChoice(): Html {
  return html`<p>Whose tasks shall end? The next page says how many there are, and what keeps working. Nothing ends before that.</p>
<div class="cards">
${choice('person', 'A person', 'Person (sponsor key)', 'sponsor', 256)}
${choice('agent', 'An agent', 'Agent (agent_id)', 'agent_id', 128)}
${choice('task', 'One task', 'Task (task_id)', 'task_id', 31)}
</div>`;
}

function choice(id: string, title: string, label: string, name: string, max: number): Html {
  return html`<form class="card" method="get" action="/stop"><h2>${title}</h2><p class="field"><label for="${id}">${label}</label>
<input id="${id}" name="${name}" required maxlength="${max}" autocomplete="off" autocapitalize="off" spellcheck="false"></p><button>Look first</button></form>`;
}

export function renderStop(view: StopView): Html {
  const { live } = view;
  return html`<p class="lead">${subject(view)}</p>
${live.tasks === 0 ? html`<p>No live task: there is nothing to end.</p>` : consequences(view)}
${live.tasks > 0 && stopForm(view)}
<p><a class="button" href="/">Back to Now</a></p>`;
}

function subject({ target, now }: StopView): Html {
  if (target.kind === 'person')
    return html`All tasks of the person <strong><bdi>${target.sponsorKey}</bdi></strong>, with every agent.`;
  if (target.kind === 'agent') {
    return html`All tasks of the agent <strong><bdi>${target.displayName}</bdi></strong> (<code>${target.agentId}</code>), for every person.`;
  }
  const { task } = target;
  return html`The task <code>${task.taskId}</code>: <strong><bdi>${task.displayName ?? task.agentId}</bdi></strong> for <strong><bdi>${task.sponsorKey}</bdi></strong> at <bdi>${task.audience}</bdi>, since ${moment(task.createdAt, now)}.`;
}

function consequences({ live, now, statusLists, target }: StopView): Html {
  const until = worksUntil(live, now);
  return html`<ul class="points consequences">
<li><strong>${amount(live.tasks)} ${live.tasks === 1 ? 'task ends' : 'tasks end'}</strong> at once: the next refresh is refused, and introspection says so.</li>
${statusLists !== undefined && html`<li>Tool servers that read status lists refuse within ${atMost('en', statusLists)}.</li>`}
${until !== undefined && html`<li>Tool servers that only check signatures may accept the last tokens until <strong>${moment(until, now)}</strong>.</li>`}
<li>New tasks may start at once. To prevent that, ${prevention(target)}.</li>
</ul>`;
}

/** Links to the screens whose forms prevent new tasks. */
function prevention(target: StopTarget): Html {
  const person = (key: SponsorKey) => html`<a href="${personPath(key)}">block the person</a>`;
  const agent = (id: AgentId) => html`<a href="${agentPath(id)}">disable the agent</a>`;
  switch (target.kind) {
    case 'person':
      return person(target.sponsorKey);
    case 'agent':
      return agent(target.agentId);
    case 'task':
      return html`${person(target.task.sponsorKey)} or ${agent(target.task.agentId)}`;
  }
}

function stopForm({ target, live, formToken }: StopView): Html {
  const label = `End ${amount(live.tasks)} ${live.tasks === 1 ? 'task' : 'tasks'}`;
  const button = html`<button class="danger">${label}</button>`;
  switch (target.kind) {
    case 'task':
      return card(
        form(
          formToken,
          stopScreen.forms.stopTask.path,
          html`<input type="hidden" name="task_id" value="${target.task.taskId}">${typedNameField('typed', target.task.agentId)}${reasonField('reason')}${button}`,
        ),
      );
    case 'agent':
      return card(
        form(
          formToken,
          stopScreen.forms.stopAgent.path,
          html`<input type="hidden" name="agent_id" value="${target.agentId}">${typedNameField('typed', target.agentId)}${reasonField('reason')}${button}`,
        ),
      );
    case 'person':
      return card(
        form(
          formToken,
          stopScreen.forms.stopPerson.path,
          html`<input type="hidden" name="sponsor_key" value="${target.sponsorKey}">${typedNameField('typed', target.sponsorKey)}${reasonField('reason')}${button}`,
        ),
      );
  }
}

function card(content: Html): Html {
  return html`<div class="card">${content}</div>`;
}

const showStop: ShowPage = async (context, request) => {
  const query = readFilters(request, ['task_id', 'agent_id', 'sponsor']);
  const taskId = query.read('task_id', parseTaskId, 'Must be a task_id: task_ and 26 characters.');
  const agentId = query.read('agent_id', parseAgentId, 'Must be an agent_id.');
  const sponsorKey = query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE);
  const given = [taskId, agentId, sponsorKey].filter((each) => each !== undefined);
  const several =
    given.length > 1 ? fieldErrors('sponsor', 'Must be the only one of task_id, agent_id and sponsor.') : [];
  const errors = [...query.errors, ...several];
  if (errors.length > 0) return refusedFilters(errors, '/stop');
  const { overview, admin } = context;
  if (taskId !== undefined) {
    const found = await admin.showTask(taskId);
    if (found === undefined)
      return notFound('There is no such task', 'It never was, or it ended and was deleted.', '/stop');
    const { task } = found;
    const agent = await admin.find(task.agentId);
    const isLive = task.state.kind === 'live';
    const live = { tasks: isLive ? 1 : 0, lastExpiry: task.expiresAt, longestTokenTtl: agent?.maxTokenTtl };
    return targetPage(context, { target: { kind: 'task', task }, live });
  }
  if (agentId !== undefined) {
    const agent = await admin.find(agentId);
    if (agent === undefined)
      return notFound('There is no such agent', 'No agent is registered under this id.', '/stop');
    const live = await overview.countLive({ agentId });
    return targetPage(context, { target: { kind: 'agent', agentId, displayName: agent.displayName }, live });
  }
  if (sponsorKey !== undefined) {
    return targetPage(context, {
      target: { kind: 'person', sponsorKey },
      live: await overview.countLive({ sponsorKey }),
    });
  }
  return { body: renderStopChoice() };
};

function targetPage({ now, formToken, overview }: ScreenContext, view: Pick<StopView, 'target' | 'live'>): Page {
  return { body: renderStop({ ...view, now, formToken, statusLists: overview.statusLists }) };
}

const stopTask: ChangeByForm = async ({ admin }, field) => {
  const taskId = parseTaskId(field('task_id') ?? '');
  if (taskId === undefined) return ended(undefined);
  // A task that this plain read does not find is stopped all the same: only the stop knows whether there is one.
  const found = await admin.showTask(taskId);
  const mistyped = found && typedWrong(field, found.task.agentId, stopPath({ task_id: taskId }));
  return mistyped ?? ended(await admin.stop({ kind: 'task', taskId }));
};

const stopAgent: ChangeByForm = async ({ admin }, field) => {
  const agentId: AgentId | undefined = parseAgentId(field('agent_id') ?? '');
  if (agentId === undefined) return ended(undefined);
  const mistyped = typedWrong(field, agentId, stopPath({ agent_id: agentId }));
  return mistyped ?? ended(await admin.stop({ kind: 'agent', agentId }));
};

const stopPerson: ChangeByForm = async ({ admin }, field) => {
  const sponsorKey = sponsorIn(field);
  if (typeof sponsorKey !== 'string') return sponsorKey;
  const mistyped = typedWrong(field, sponsorKey, stopPath({ sponsor: sponsorKey }));
  return mistyped ?? ended(await admin.stop({ kind: 'sponsor', sponsorKey }));
};

function ended(outcome: StopOutcome | undefined): FormResult {
  if (outcome?.kind === 'ended') return { kind: 'done', to: '/', notice: { kind: 'stopped', amount: outcome.tasks } };
  return {
    kind: 'refused',
    status: 404,
    reason: 'not_found',
    title: 'There is nothing to end',
    text: 'The task or the agent does not exist. Nothing was changed.',
  };
}

export const stopScreen = {
  path: screenPaths.stop,
  title: 'Kill switch',
  route: 'DELETE /admin/tasks/{task_id}',
  work: 'revoking',
  inNavigation: false,
  show: showStop,
  forms: {
    stopTask: { path: '/stop/task', route: 'DELETE /admin/tasks/{task_id}', work: 'revoking', change: stopTask },
    stopAgent: {
      path: '/stop/agent',
      route: 'DELETE /admin/agents/{agent_id}/tasks',
      work: 'revoking',
      change: stopAgent,
    },
    stopPerson: {
      path: '/stop/person',
      route: 'DELETE /admin/sponsors/{sponsor_key}/tasks',
      work: 'revoking',
      change: stopPerson,
    },
  },
} as const satisfies Screen;
