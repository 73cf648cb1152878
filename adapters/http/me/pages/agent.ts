/** The page of the live tasks of one agent, each with its stop. */

import type { MyAgentTasks } from '../../../../application/me/my-agents.ts';
import { parseTaskId, type TaskId } from '../../../../domain/identifiers.ts';
import { isSignInDated } from '../../../../domain/sessions/sign-in-age.ts';
import { html } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import type { FormField } from '../../browser/pages.ts';
import { readQuery } from '../../message/query.ts';
import { agentName } from '../agent-name.ts';
import { MALFORMED, type MeContext, type MePage, personView, UNREADABLE, unknownTo } from '../context.ts';
import { type DelegationView, delegationOfAgent } from '../delegation-parts.ts';
import { pageLinks, pageOfPerson, texts } from '../frame.ts';
import { liveTask, stopAgent } from '../task-parts.ts';
import { treeLink } from '../task-tree.ts';
import type { PersonView } from '../view.ts';

const TASKS_PER_PAGE = 50;

/** The live tasks of one agent. */
export interface AgentView extends PersonView {
  readonly position: AgentPosition;
  readonly shown: MyAgentTasks;
  /** `undefined` without `Service:Delegation:Enabled`, and for an agent that was removed. */
  readonly delegation: DelegationView | undefined;
}

/** A page of the tasks of one agent, as an address names it. */
interface AgentPosition {
  /** A task of the agent. */
  readonly of: TaskId;
  /** The last task of the previous page. */
  readonly after: TaskId | undefined;
}

/** The parameters of the address, and the fields of a form that leads back to it. */
const POSITION_FIELDS = { of: 'task', after: 'after' } as const;
/** The field of a form from the page: a task of the agent. */
export const TASK_FIELD = POSITION_FIELDS.of;

/** The path after the issuer's. Browsers and proxies keep addresses, so this one has a task of the agent, not its name. */
export function agentAddress({ of, after }: AgentPosition): string {
  const first = `${agentPage.path}?${POSITION_FIELDS.of}=${of}`;
  return after === undefined ? first : `${first}&${POSITION_FIELDS.after}=${after}`;
}

/** The agent's page that a form came from. `undefined` for a form of another page. */
export function agentPageOf(field: FormField): string | undefined {
  const of = parseTaskId(field(POSITION_FIELDS.of) ?? '');
  return of && agentAddress({ of, after: parseTaskId(field(POSITION_FIELDS.after) ?? '') });
}

/** @returns a whole document */
export function renderAgent(view: AgentView, language: Language): string {
  const words = texts[language];
  const { base, position, shown, delegation } = view;
  const { agent, live, tasks, nextAfter } = shown;
  const { of, after } = position;
  const name = agentName(agent, words);
  const back = html`<input type="hidden" name="${POSITION_FIELDS.of}" value="${of}">${after !== undefined && html`<input type="hidden" name="${POSITION_FIELDS.after}" value="${after}">`}`;
  const link = (to: AgentPosition, label: string) => [`${base}${agentAddress(to)}`, label] as const;
  const renewed = html`${pageLinks([[`${base}/me`, words.back]])}
<section aria-labelledby="live">
<div class="heading"><h2 id="live">${words.live}</h2>${live > 0 && html`<span class="quiet">${words.tasks(live)}</span>`}</div>
${live === 0 && html`<p class="card">${words.nothingOfAgent}</p>`}
${live > 0 && html`<div class="all">${stopAgent(view, { agentId: agent.agentId, task: of }, words.stopAgent(live, name))}</div>`}
<ul>${tasks.map((task) => html`<li class="card">${liveTask(view, task, words, language, { fields: back, terms: treeLink(view, task, words) })}</li>`)}</ul>
</section>
${pageLinks([
  after === undefined ? undefined : link({ of, after: undefined }, words.first),
  nextAfter === undefined ? undefined : link({ of, after: nextAfter }, words.next),
])}${
  delegation &&
  html`
${delegationOfAgent(view, delegation, agent, words, back)}`
}`;
  return pageOfPerson(view, language, { title: words.title, heading: name, renewed });
}

async function delegationOf(
  { surface, person, options }: MeContext,
  { agentId, displayName }: MyAgentTasks['agent'],
): Promise<DelegationView | undefined> {
  if (surface.delegation === undefined || displayName === undefined) return undefined;
  const [refused, mayAllow] = await Promise.all([
    surface.delegation.refusedAmong(person, [agentId]),
    surface.mayResume(person),
  ]);
  const isAllowable = isSignInDated(person, options.clock.now());
  return { isRefused: refused.has(agentId), mayAllow, isAllowable };
}

export const agentPage = {
  path: '/me/agent',
  async show(context, request) {
    const query = readQuery(request.originalUrl, Object.values(POSITION_FIELDS));
    const of = query.read(POSITION_FIELDS.of, parseTaskId, UNREADABLE);
    const after = query.read(POSITION_FIELDS.after, parseTaskId, UNREADABLE);
    if (query.errors.length > 0 || of === undefined) return MALFORMED;
    const position: AgentPosition = { of, after };
    const shown = await context.surface.agentTasks(context.person, { ...position, limit: TASKS_PER_PAGE });
    if (shown === undefined) return unknownTo(context, 'unknown_task');
    const delegation = await delegationOf(context, shown.agent);
    return { document: renderAgent({ ...(await personView(context)), position, shown, delegation }, context.language) };
  },
} as const satisfies MePage;
