/** The kill switch. It first says how many tasks end, and until when tokens still work; then it asks for a name and a reason. */

import type { EverythingOutcome } from '../../../../application/admin/stop-everything.ts';
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
import { CLOCKS_DIFFER, worksUntil } from '../../../../domain/tasks/lifetime.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/operator-router.ts';
import { type Html, html } from '../../browser/html.ts';
import type { FormField } from '../../browser/pages.ts';
import { atMost } from '../../browser/times.ts';
import { form, named } from '../../browser/words.ts';
import { agentPath, personPath, screenPaths, stopPath } from '../addresses.ts';
import type {
  ChangeByForm,
  ChangeResult,
  OverviewSurface,
  Screen,
  ScreenContext,
  Shown,
  ShowScreen,
} from '../context.ts';
import { AGENT_ID_SENTENCE, notFound, readFilters, refusedFilters, type Typed } from '../parts/filters.ts';
import { reasonField, sponsorIn, typedInto, typedNameField, typedWrong } from '../parts/form-fields.ts';
import { readSuggestions, type Suggestions, suggestions } from '../parts/suggestions.ts';
import { moment } from '../parts/times.ts';
import { unknownAgent, unknownPerson, unknownTask } from '../parts/unknown-names.ts';
import { amount, count } from '../parts/words.ts';

/** Whose tasks end. */
export type StopTarget =
  | { readonly kind: 'task'; readonly task: ListedTask }
  | { readonly kind: 'agent'; readonly agentId: AgentId; readonly displayName: string }
  | { readonly kind: 'person'; readonly sponsorKey: SponsorKey }
  | { readonly kind: 'everything' };

/** The operator types these two words to end all tasks of all people. */
const EVERYTHING = 'stop everything';

interface StopView extends Pick<ScreenContext, 'now' | 'formToken'>, Pick<OverviewSurface, 'statusLists'> {
  readonly target: StopTarget;
  /** The tasks that end. */
  readonly live: LiveTaskCount;
  /** The warning if no task, block or record names the person. */
  readonly unknown?: Html | undefined;
  typed(form: { readonly path: string }): FormField;
}

/** The screen before a target is chosen: it asks whose tasks end. @param typed texts that the filters refused */
function renderStopChoice({ suggested, mayStopEverything }: ChoiceView, typed: Typed<Choice> = {}): Html {
  const choice = (id: string, title: string, label: string, name: Choice, max: number, list: keyof Suggestions) =>
    html`<form class="card" method="get" action="${screenPaths.stop}"><h2>${title}</h2><p class="field"><label for="${id}">${label}</label>
<input id="${id}" name="${name}" value="${typed[name] ?? ''}" required maxlength="${max}" list="${list}" autocomplete="off" autocapitalize="off" spellcheck="false"></p><button>Look first</button></form>`;
  return html`<p>Whose tasks shall end? The next page says how many there are, and what keeps working. Nothing ends before that.</p>
<div class="cards">
${choice('person', 'A person', 'Person (sponsor key)', 'sponsor', 256, 'people')}
${choice('agent', 'An agent', 'Agent (agent_id)', 'agent_id', 128, 'agents')}
${choice('task', 'One task', 'Task (task_id)', 'task_id', 31, 'tasks')}
${mayStopEverything && html`<div class="card"><h2>Everything</h2><p>All tasks of all people, with every agent.</p><p><a class="button stop" href="${stopPath({ everything: 'yes' })}">Look first</a></p></div>`}
</div>
${suggestions(suggested, ['people', 'agents', 'tasks'])}`;
}

interface ChoiceView extends Pick<OverviewSurface, 'mayStopEverything'> {
  readonly suggested: Suggestions;
}

const CHOICES = ['task_id', 'agent_id', 'sponsor'] as const;
type Choice = (typeof CHOICES)[number];

async function choiceOf(context: ScreenContext): Promise<ChoiceView> {
  return { suggested: await readSuggestions(context), mayStopEverything: context.overview.mayStopEverything };
}

export function renderStop(view: StopView): Html {
  const { live } = view;
  return html`<p class="lead">${subject(view)}</p>
${live.tasks === 0 ? (view.unknown ?? html`<p>No live task: there is nothing to end.</p>`) : consequences(view)}
${live.tasks > 0 && stopForm(view)}
<p><a class="button" href="${screenPaths.now}">Back to Now</a></p>`;
}

function subject({ target, now }: StopView): Html {
  if (target.kind === 'person')
    return html`All tasks of the person <strong>${named(target.sponsorKey)}</strong>, with every agent.`;
  if (target.kind === 'agent') {
    return html`All tasks of the agent <strong>${named(target.displayName)}</strong> (<code>${target.agentId}</code>), for every person.`;
  }
  if (target.kind === 'everything') return html`<strong>All tasks of all people</strong>, with every agent.`;
  const { task } = target;
  return html`The task <code>${task.taskId}</code>: <strong>${named(task.displayName ?? task.agentId)}</strong> for <strong>${named(task.sponsorKey)}</strong> at ${named(task.audience)}, since ${moment(task.createdAt, now)}.`;
}

function consequences({ live, now, statusLists, target }: StopView): Html {
  const until = worksUntil(live, now);
  return html`<ul class="points consequences">
<li><strong>${amount(live.tasks)} ${live.tasks === 1 ? 'task ends' : 'tasks end'}</strong> at once${target.kind === 'task' && live.tasks > 1 && ', this one and those below it'}: the next refresh is refused, and introspection says so.</li>
${statusLists !== undefined && html`<li>Tool servers that read status lists refuse within ${atMost('en', statusLists)}.</li>`}
${until !== undefined && html`<li>Tool servers that only check signatures may accept the last tokens until <strong>${moment(until, now)}</strong>. ${CLOCKS_DIFFER}</li>`}
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
    case 'everything':
      return html`disable the <a href="${screenPaths.agents}">agents</a> or block the <a href="${screenPaths.people}">people</a>`;
    case 'task':
      return html`${person(target.task.sponsorKey)} or ${agent(target.task.agentId)}`;
  }
}

function stopForm({ target, live, formToken, typed }: StopView): Html {
  const label = `End ${amount(live.tasks)} ${live.tasks === 1 ? 'task' : 'tasks'}`;
  const { to, hidden, word } = formOf(target);
  const before = typed(to);
  const fields = html`${hidden !== undefined && html`<input type="hidden" name="${hidden[0]}" value="${hidden[1]}">`}${typedNameField('typed', word, before)}${reasonField('reason', before)}<button class="danger">${label}</button>`;
  return html`<div class="card">${form(formToken, to.path, fields)}</div>`;
}

interface TargetForm {
  readonly to: { readonly path: string };
  readonly hidden: readonly [name: string, value: string] | undefined;
  /** The operator types it. */
  readonly word: string;
}

/** The form of a target. */
function formOf(target: StopTarget): TargetForm {
  const { stopTask, stopAgent, stopPerson, stopEverything } = stopScreen.forms;
  switch (target.kind) {
    case 'task':
      return { to: stopTask, hidden: ['task_id', target.task.taskId], word: target.task.agentId };
    case 'agent':
      return { to: stopAgent, hidden: ['agent_id', target.agentId], word: target.agentId };
    case 'person':
      return { to: stopPerson, hidden: ['sponsor_key', target.sponsorKey], word: target.sponsorKey };
    case 'everything':
      return { to: stopEverything, hidden: undefined, word: EVERYTHING };
  }
}

const showStop: ShowScreen = async (context, request) => {
  const { mayStopEverything } = context.overview;
  // Switched off, the parameter is as unknown as any other.
  const query = readFilters(request, mayStopEverything ? [...CHOICES, 'everything'] : CHOICES);
  const everything = query.read('everything', (text) => (text === 'yes' ? text : undefined), 'Must be yes.');
  const taskId = query.read('task_id', parseTaskId, 'Must be a task_id: task_ and 26 characters.');
  const agentId = query.read('agent_id', parseAgentId, AGENT_ID_SENTENCE);
  const sponsorKey = query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE);
  const given = [taskId, agentId, sponsorKey, everything].filter((each) => each !== undefined);
  const several = given.length > 1 ? fieldErrors('sponsor', 'Must be the only filter.') : [];
  const errors = [...query.errors, ...several];
  if (errors.length > 0) {
    return refusedFilters(errors, screenPaths.stop, renderStopChoice(await choiceOf(context), query.typed));
  }
  const { overview, admin } = context;
  if (taskId !== undefined) {
    const found = await admin.showTask(taskId);
    if (found === undefined) {
      const said = await unknownTask(context, taskId, (id) => stopPath({ task_id: id }));
      return notFound('There is no such task', said, screenPaths.stop);
    }
    const { task } = found;
    const live = await overview.countLive({ endOf: { taskId } });
    return targetPage(context, { target: { kind: 'task', task }, live });
  }
  if (agentId !== undefined) {
    const agent = await admin.find(agentId);
    if (agent === undefined) {
      const said = await unknownAgent(context, agentId, (id) => stopPath({ agent_id: id }));
      return notFound('There is no such agent', said, screenPaths.stop);
    }
    const live = await overview.countLive({ endOf: { agentId } });
    return targetPage(context, { target: { kind: 'agent', agentId, displayName: agent.displayName }, live });
  }
  if (sponsorKey !== undefined) {
    const [live, blocks] = await Promise.all([overview.countLive({ sponsorKey }), admin.findBlocks(sponsorKey)]);
    const isIdle = live.tasks === 0 && blocks.length === 0;
    const toStop = (key: string) => stopPath({ sponsor: key });
    const unknown = isIdle ? await unknownPerson(context, sponsorKey, toStop) : undefined;
    return targetPage(context, { target: { kind: 'person', sponsorKey }, live, unknown });
  }
  if (everything !== undefined) {
    return targetPage(context, { target: { kind: 'everything' }, live: await overview.countLive(undefined) });
  }
  return { body: renderStopChoice(await choiceOf(context)) };
};

function targetPage(context: ScreenContext, view: Pick<StopView, 'target' | 'live' | 'unknown'>): Shown {
  const { now, formToken, overview } = context;
  const typed: StopView['typed'] = (form) => typedInto(context, form);
  return { body: renderStop({ ...view, now, formToken, typed, statusLists: overview.statusLists }) };
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

const stopEverything: ChangeByForm = async ({ admin }, field) => {
  const back = stopPath({ everything: 'yes' });
  const mistyped = typedWrong(field, EVERYTHING, back);
  if (mistyped !== undefined) return mistyped;
  const outcome = await admin.stopEverything();
  if (outcome.kind === 'ended') return ended(outcome);
  return {
    kind: 'refused',
    status: 503,
    reason: 'tasks_left',
    back,
    title: 'More tasks are left',
    text: `Ended ${count(outcome.tasks, 'task')}. Time was up before all had ended: send the form again to end the rest.`,
  };
};

function ended(outcome: StopOutcome | EverythingOutcome | undefined): ChangeResult {
  if (outcome?.kind === 'ended')
    return { kind: 'done', to: screenPaths.now, notice: { kind: 'stopped', amount: outcome.tasks } };
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
    stopTask: {
      path: '/stop/task',
      route: 'DELETE /admin/tasks/{task_id}',
      work: 'revoking',
      back: (field) => stopPath({ task_id: parseTaskId(field('task_id') ?? '') }),
      change: stopTask,
    },
    stopAgent: {
      path: '/stop/agent',
      route: 'DELETE /admin/agents/{agent_id}/tasks',
      work: 'revoking',
      back: (field) => stopPath({ agent_id: parseAgentId(field('agent_id') ?? '') }),
      change: stopAgent,
    },
    stopPerson: {
      path: '/stop/person',
      route: 'DELETE /admin/sponsors/{sponsor_key}/tasks',
      work: 'revoking',
      back: (field) => stopPath({ sponsor: parseSponsorKey(field('sponsor_key') ?? '') }),
      change: stopPerson,
    },
    stopEverything: {
      path: '/stop/everything',
      route: 'DELETE /admin/tasks',
      work: 'revoking',
      back: () => stopPath({ everything: 'yes' }),
      change: stopEverything,
    },
  },
} as const satisfies Screen;
