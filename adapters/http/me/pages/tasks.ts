/** The first page of a person: which agents act for them, and the forms that stop them. Every form works without the script. */

import type { MyAgent, MyAgents } from '../../../../application/me/my-agents.ts';
import type { MyTask, MyTasksPage } from '../../../../application/me/my-tasks.ts';
import type { MyStopSelection } from '../../../../application/me/stop-my-tasks.ts';
import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import { type AgentId, parseAgentId, parseTaskId, type TaskId } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { isSignInDated } from '../../../../domain/sessions/sign-in-age.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import type { PageRequest } from '../../browser/pages.ts';
import { named } from '../../browser/words.ts';
import { readQuery } from '../../message/query.ts';
import { agentName } from '../agent-name.ts';
import {
  HOME,
  MALFORMED,
  type MeContext,
  type MePage,
  type MePages,
  type Outcome,
  personView,
  UNREADABLE,
  unknownTo,
} from '../context.ts';
import { DELEGATION_PATH } from '../cookies.ts';
import { ofAgent } from '../delegation-parts.ts';
import { form, pageLinks, pageOfPerson, texts } from '../frame.ts';
import {
  AGENT_FIELD,
  endedTasks,
  liveTask,
  OF_AGENT_FIELD,
  STOP_AGENT_PATH,
  STOP_TASK_PATH,
  stopAgent,
} from '../task-parts.ts';
import { tasksBelow } from '../task-tree.ts';
import type { Texts } from '../texts/en.ts';
import { distance, moment } from '../times.ts';
import type { PersonView, Reach } from '../view.ts';
import { agentAddress, agentPageOf } from './agent.ts';
import { findWaiting, type WaitingView, waitingApprovals } from './approval.ts';
import { endedAddress } from './ended.ts';
import { resumeButton } from './resume.ts';
import { settledApprovals } from './settled.ts';

const AGENTS_PER_PAGE = 20;
/** The page shows up to this many live tasks. A person with more gets a line for each agent, and its tasks elsewhere. */
const FEW_TASKS = 5;
/** How many ended tasks the page shows. Other pages have the rest. */
const LATEST_ENDED = 10;
/** How many answered and missed questions. */
const LATEST_SETTLED = 10;

export interface MeView extends PersonView, WaitingView {
  /** What the person answered or missed last. Empty without approvals, and on a later page of agents. */
  readonly settled: readonly TaskApproval[];
  readonly agents: MyAgents;
  /** Whether this is the first page of agents. */
  readonly isFirst: boolean;
  /** The latest ended tasks. `undefined` on a later page of agents. */
  readonly ended: MyTasksPage | undefined;
  /** When the person paused agents. */
  readonly pausedAt: Instant | undefined;
  /** Whether another source than the person blocks agents. */
  readonly blockedByOthers: boolean;
  readonly canPause: boolean;
  /** Whether the person could lift a pause. If not, the person cannot place one either, and the page says why. */
  readonly isPauseLiftable: boolean;
  /** Whether the person signed in lately enough to lift the pause. */
  readonly mayResume: boolean;
  /** `undefined` without `Service:Delegation:Enabled`. */
  readonly delegation: DelegationsOfAgents | undefined;
  /** Whether the provider can end its own session too. */
  readonly signsOutEverywhere: boolean;
  readonly reach: Reach;
}

interface DelegationsOfAgents {
  /** Those of the shown agents whose handing-over the person refuses. */
  readonly refused: ReadonlySet<AgentId>;
  /** Whether the person refuses that of any agent. */
  readonly hasRefusals: boolean;
}

/** @returns a whole document */
export function renderMe(view: MeView, language: Language): string {
  const words = texts[language];
  const { base, agents, isFirst } = view;
  const renewed = html`${banners(view, words, language)}
${view.settled.length > 0 && settledApprovals(view, view.settled, words, language)}
${liveAgents(view, words, language)}
${pageLinks([
  isFirst ? undefined : [`${base}/me`, words.back],
  agents.nextAfter && [`${base}/me?after=${agents.nextAfter}`, words.moreAgents],
  view.delegation?.hasRefusals ? [`${base}${DELEGATION_PATH}`, words.delegation.list] : undefined,
])}
${ended(view, words, language)}`;
  const below = html`<section aria-labelledby="reach">
<div class="heading"><h2 id="reach">${words.reach}</h2></div>
<ul class="points quiet">${words.reaches(view.reach, whatAgentsMay(view)).map((point) => html`<li>${point}</li>`)}${view.handsOver && html`<li>${words.delegation.stopReaches}</li>`}</ul>
</section>
${view.signsOutEverywhere && signOutEverywhere(view, words)}
${view.person !== view.sponsorKey && html`<p class="quiet known" data-signed-in>${words.knownAs(named(view.sponsorKey))}</p>`}`;
  const approvals = view.hearsApprovals ? waitingApprovals(view, words, language) : undefined;
  const content = { title: words.title, heading: words.title, approvals, renewed, below };
  return pageOfPerson(view, language, {
    ...content,
    skips: [...(approvals?.skips ?? []), ['#live', words.skipToTasks]],
  });
}

function whatAgentsMay(view: MeView): { mayBegin: boolean; mayPause: boolean } {
  const mayBegin = view.pausedAt === undefined && !view.blockedByOthers;
  return { mayBegin, mayPause: mayBegin && view.canPause && view.isPauseLiftable };
}

function banners(view: MeView, words: Texts, language: Language): Insert {
  const { pausedAt } = view;
  return [
    view.blockedByOthers && html`<div class="banner warn"><h2>${words.blocked}</h2><p>${words.blockedMeans}</p></div>`,
    pausedAt !== undefined &&
      html`<div class="banner warn"><h2>${words.paused}</h2>
<p>${words.pausedSince(moment(language, pausedAt, view.now))}</p>
${!view.blockedByOthers && resumeButton(view, words.resume)}</div>`,
  ];
}

function liveAgents(view: MeView, words: Texts, language: Language): Html {
  const { tasks, agents, page, listed } = view.agents;
  const cards = page.map((agent) =>
    listed === undefined
      ? agentLine(view, agent, words, language)
      : agentWithTasks(view, listed, agent, words, language),
  );
  return html`<section aria-labelledby="live">
<div class="heading"><h2 id="live">${words.live}</h2>${tasks > 0 && html`<span class="quiet">${words.count(tasks, agents)}</span>`}</div>
${everything(view, words)}
${tasks === 0 ? html`<p class="card">${words.nothingLive}</p>` : html`<ul>${cards}</ul>`}
</section>`;
}

/** One agent of a person with many tasks. The link has an id, by which a renewal keeps its focus: its address may change. */
function agentLine(view: MeView, agent: MyAgent, words: Texts, language: Language): Html {
  const { agentId, tasks, newestTask, activeAt } = agent;
  const name = agentName(agent, words);
  const address = `${view.base}${agentAddress({ of: newestTask, after: undefined })}`;
  return html`<li class="card agent" id="card-${agentId}">
<a id="tasks-${agentId}" href="${address}"><h3>${name}</h3><span class="quiet">${words.tasks(tasks)} · ${words.active(distance(language, activeAt, view.now))}${isRefused(view, agentId) && html` · ${words.delegation.isRefusedInShort}`}</span></a>
${stopAgent(view, { agentId, task: newestTask }, html`${words.stop}<span class="hidden">: ${words.stopWhole(tasks, name)}</span>`)}
</li>`;
}

/**
 * The tasks of an agent, each with those that were handed over from it. Nothing for an agent whose tasks all were: they are
 * below others.
 */
function agentWithTasks(
  view: MeView,
  listed: readonly MyTask[],
  { agentId }: MyAgent,
  words: Texts,
  language: Language,
): Insert {
  const tasks = listed.filter((task) => task.agentId === agentId);
  const shown = tasks.filter((task) => !isBelow(view, listed, task));
  const [first] = shown;
  if (first === undefined) return undefined;
  const name = agentName(first, words);
  return html`<li class="card"><h3>${name}</h3>
${delegationLink(view, first, words)}${shown.map((task) => withTasksBelow(view, listed, task, words, language))}
${tasks.length > 1 && html`<div class="task">${stopAgent(view, { agentId: first.agentId, task: first.taskId }, words.stopAgent(tasks.length, name))}</div>`}</li>`;
}

/** Whether the person refuses that the agent hands work to other agents. */
function isRefused({ delegation }: MeView, agentId: AgentId): boolean {
  return delegation?.refused.has(agentId) === true;
}

/**
 * Whether the page shows the task below the one that it came from. Not if the way up never ends, because a row was altered:
 * the task is then shown by itself.
 */
function isBelow({ handsOver }: MeView, listed: readonly MyTask[], task: MyTask): boolean {
  if (!handsOver) return false;
  const above = ({ parentTaskId }: MyTask) => listed.find(({ taskId }) => taskId === parentTaskId);
  const parent = above(task);
  let last = parent;
  for (let steps = 1; steps < listed.length && last !== undefined; steps++) last = above(last);
  return parent !== undefined && last === undefined;
}

function withTasksBelow(view: MeView, listed: readonly MyTask[], task: MyTask, words: Texts, language: Language): Html {
  const below = listed.filter((child) => child.parentTaskId === task.taskId && isBelow(view, listed, child));
  const items = below.map(
    (child) => html`<li><h4>${agentName(child, words)}</h4>
${linksDelegation(view, listed, child) && delegationLink(view, child, words)}${withTasksBelow(view, listed, child, words, language)}</li>`,
  );
  return html`${liveTask(view, task, words, language)}${tasksBelow(items, words)}`;
}

/** Once for each agent: where its first task below others is, if no task of the agent stands above. */
function linksDelegation(view: MeView, listed: readonly MyTask[], { agentId, taskId }: MyTask): boolean {
  const tasks = listed.filter((task) => task.agentId === agentId);
  return tasks.every((task) => isBelow(view, listed, task)) && tasks[0]?.taskId === taskId;
}

/** The page of the agent has the choice. Where tasks are listed here, nothing else leads to it. */
function delegationLink(view: MeView, task: MyTask, words: Texts): Insert {
  const { agentId, taskId } = task;
  if (view.delegation === undefined) return undefined;
  const address = `${view.base}${agentAddress({ of: taskId, after: undefined })}`;
  return html`${
    isRefused(view, agentId) &&
    html`<p class="quiet">${words.delegation.isRefused}</p>
`
  }<p><a id="delegation-${agentId}" href="${address}#delegation">${words.delegation.title}${ofAgent(task, words)}</a></p>
`;
}

function everything(view: MeView, words: Texts): Insert {
  const hasTasks = view.agents.tasks > 0;
  const wouldPause = view.canPause && view.pausedAt === undefined;
  const mayPause = wouldPause && view.isPauseLiftable;
  if (!hasTasks && !wouldPause) return undefined;
  const ask = (id: string, style: string, label: string, means: string, action: Html): Html =>
    html`<details class="ask" id="${id}"><summary class="button ${style}">${label}</summary><p>${means}</p>${action}</details>`;
  return html`<div class="all">
${
  hasTasks &&
  ask(
    'ask-stop',
    'stop',
    words.stopAll,
    words.stopAllMeans,
    form(view, tasksPage.forms.stopAll.path, html`<button class="danger">${words.stopAllNow}</button>`),
  )
}
${
  mayPause &&
  ask(
    'ask-pause',
    '',
    words.pause,
    words.pauseMeans,
    form(view, tasksPage.forms.pause.path, html`<button class="danger">${words.pauseNow}</button>`),
  )
}
${wouldPause && !mayPause && html`<p class="quiet" id="no-pause">${words.noPause}</p>`}
</div>`;
}

function ended(view: MeView, words: Texts, language: Language): Insert {
  if (view.ended === undefined) return undefined;
  const { tasks, nextAfter } = view.ended;
  return html`<section aria-labelledby="history">
<div class="heading"><h2 id="history">${words.history}</h2></div>
${endedTasks(view, tasks, words, language)}
${pageLinks([nextAfter && [`${view.base}${endedAddress(nextAfter)}`, words.moreEnded]])}
</section>`;
}

function signOutEverywhere(view: MeView, words: Texts): Html {
  const { title, means } = words.everywhere;
  return html`<section aria-labelledby="everywhere" data-signed-in>
<div class="heading"><h2 id="everywhere">${title}</h2></div>
<p class="quiet">${means}</p>
${form(view, '/me/sign-out', html`<input type="hidden" name="everywhere" value="yes"><button>${title}</button>`)}
</section>`;
}

async function showTasks(context: MeContext, { originalUrl }: PageRequest): Promise<MePages['shown']> {
  const { surface, person, session, options } = context;
  const query = readQuery(originalUrl, ['after']);
  const after = query.read('after', parseTaskId, UNREADABLE);
  if (query.errors.length > 0) return MALFORMED;
  const isFirst = after === undefined;
  const { delegation } = surface;
  const live = surface.agents(person, { after, limit: AGENTS_PER_PAGE, listsTasks: FEW_TASKS });
  const [agents, ended, pause, mayResume, { waiting, altered, tasks }, settled, mayApprove, acceptedFor] =
    await Promise.all([
      live,
      // Read after the live tasks: a task that ends meanwhile is then on the page twice, never missing.
      live.then(() => (isFirst ? surface.endedTasks(person, { after: undefined, limit: LATEST_ENDED }) : undefined)),
      surface.pauseOf(person),
      surface.mayResume(person),
      findWaiting(surface, person, isFirst),
      isFirst ? surface.approvals?.settled(person, LATEST_SETTLED) : undefined,
      surface.approvals?.mayApprove(person),
      surface.acceptedAfterStop(),
    ]);
  const [refused, any] =
    delegation === undefined
      ? []
      : await Promise.all([
          delegation.refusedAmong(
            person,
            agents.page.map(({ agentId }) => agentId),
          ),
          delegation.list(person, 1),
        ]);
  const view: MeView = {
    ...(await personView(context)),
    reach: { acceptedFor, statusLists: options.statusLists },
    waiting,
    altered,
    tasks,
    settled: settled ?? [],
    mayApprove: mayApprove === true,
    agents,
    isFirst,
    ended,
    pausedAt: pause.own?.blockedAt,
    blockedByOthers: pause.blockedByOthers,
    canPause: surface.canPause,
    signsOutEverywhere: session.signsOutEverywhere === true,
    isPauseLiftable: isSignInDated(person, options.clock.now()),
    mayResume,
    delegation: refused && any && { refused, hasRefusals: any.refusals.length > 0 },
  };
  return { document: renderMe(view, context.language) };
}

async function stop(
  context: MeContext,
  selection: MyStopSelection | undefined,
  { to = HOME, about }: { readonly to?: string | undefined; readonly about?: TaskId | undefined } = {},
): Promise<Outcome> {
  const outcome = selection && (await context.surface.stop(context.person, selection));
  if (outcome?.kind !== 'ended') return { kind: 'refused', message: unknownTo(context, 'unknown_task') };
  // With tasks that were handed over, those of other agents may have ended too: the message then names no agent.
  const isOfOne = context.surface.delegation === undefined || outcome.tasks === 1;
  return { kind: 'done', to, notice: { kind: 'stopped', amount: outcome.tasks, ...(isOfOne && about && { about }) } };
}

async function pause({ surface, person }: MeContext): Promise<Outcome> {
  if (!surface.canPause) return { kind: 'refused', message: { status: 404, kind: 'unknown_path' } };
  const outcome = await surface.pause(person);
  if (outcome.kind === 'pause_not_liftable') {
    return { kind: 'refused', message: { status: 409, kind: 'pause_not_liftable' } };
  }
  return { kind: 'done', to: HOME, notice: { kind: 'paused', amount: outcome.revokedTasks } };
}

export const tasksPage = {
  path: HOME,
  show: showTasks,
  forms: {
    stopAll: { path: '/me/tasks/stop', change: (context) => stop(context, { kind: 'sponsor' }) },
    stopTask: {
      path: STOP_TASK_PATH,
      change(context, field, params) {
        const taskId = parseTaskId(String(params.taskId));
        return stop(context, taskId && { kind: 'task', taskId }, { to: agentPageOf(field), about: taskId });
      },
    },
    stopAgent: {
      path: STOP_AGENT_PATH,
      change(context, field) {
        const agentId = parseAgentId(field(AGENT_FIELD) ?? '');
        // For the message alone, which names the agent only if the task is this person's.
        const about = parseTaskId(field(OF_AGENT_FIELD) ?? '');
        return stop(context, agentId && { kind: 'sponsor_agent', agentId }, { about });
      },
    },
    pause: { path: '/me/pause', change: pause },
  },
} as const satisfies MePage;
