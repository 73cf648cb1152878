/**
 * The page of the agents that may not hand work to other agents, because the person refused it, and the forms of that choice. A
 * new sign-in, which the permission may need, leads to it. No address names an agent: browsers and proxies keep addresses.
 */

import type { DelegationAllowed, MyDelegationRefusals } from '../../../../application/me/my-delegation.ts';
import { type AgentId, parseAgentId, parseTaskId } from '../../../../domain/identifiers.ts';
import { html } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import type { FormField } from '../../browser/pages.ts';
import { agentName } from '../agent-name.ts';
import { type MeContext, type MePage, type Outcome, personView, unknownTo } from '../context.ts';
import { DELEGATION_PATH } from '../cookies.ts';
import { ALLOW_PATH, allowButton, type MayAllow, REFUSE_PATH } from '../delegation-parts.ts';
import { pageLinks, pageOfPerson, texts } from '../frame.ts';
import type { MyDelegation } from '../surface.ts';
import { AGENT_FIELD } from '../task-parts.ts';
import { moment } from '../times.ts';
import type { PersonView } from '../view.ts';
import { agentPageOf, TASK_FIELD } from './agent.ts';

const AGENTS_PER_PAGE = 100;

export interface DelegationsView extends PersonView, MayAllow {
  readonly refused: MyDelegationRefusals;
}

/** @returns a whole document */
export function renderDelegations(view: DelegationsView, language: Language): string {
  const words = texts[language];
  const { refusals, areMore } = view.refused;
  const { delegation } = words;
  const renewed = html`${pageLinks([[`${view.base}/me`, words.back]])}
${refusals.length === 0 ? html`<p class="card">${delegation.none}</p>` : html`<p class="quiet">${delegation.listMeans}</p>`}
<ul>${refusals.map(
    (agent) => html`<li class="card"><h2>${agentName(agent, words)}</h2>
<p class="quiet">${delegation.refusedSince(moment(language, agent.refusedAt, view.now))}</p>
${allowButton(view, view, agent, words)}</li>`,
  )}</ul>
${areMore && html`<p class="quiet">${delegation.areMore(refusals.length)}</p>`}`;
  return pageOfPerson(view, language, { title: delegation.list, heading: delegation.list, renewed });
}

async function change(
  context: MeContext,
  field: FormField,
  choose: (agentId: AgentId) => Promise<DelegationAllowed>,
  kind: 'delegation_refused' | 'delegation_allowed',
): Promise<Outcome> {
  const agentId = parseAgentId(field(AGENT_FIELD) ?? '');
  const verdict = agentId && (await choose(agentId));
  // The message names the agent by this task, if it is the person's.
  const about = parseTaskId(field(TASK_FIELD) ?? '');
  switch (verdict) {
    case 'done':
      return {
        kind: 'done',
        to: agentPageOf(field) ?? DELEGATION_PATH,
        notice: { kind, amount: 0, ...(about && { about }) },
      };
    case 'sign_in_too_old':
      return { kind: 'done', to: DELEGATION_PATH };
    case 'unknown_agent':
    case undefined:
      return { kind: 'refused', message: unknownTo(context, 'unknown_agent') };
  }
}

/** Only with `Service:Delegation:Enabled`. */
export const delegationPage = (delegation: MyDelegation) =>
  ({
    path: DELEGATION_PATH,
    async show(context) {
      const { surface, person, language } = context;
      const [refused, mayAllow] = await Promise.all([
        delegation.list(person, AGENTS_PER_PAGE),
        surface.mayResume(person),
      ]);
      return { document: renderDelegations({ ...(await personView(context)), refused, mayAllow }, language) };
    },
    forms: {
      refuse: {
        path: REFUSE_PATH,
        change: (context, field) =>
          change(context, field, (agentId) => delegation.refuse(context.person, agentId), 'delegation_refused'),
      },
      allow: {
        path: ALLOW_PATH,
        change: (context, field) =>
          change(context, field, (agentId) => delegation.allow(context.person, agentId), 'delegation_allowed'),
      },
    },
  }) as const satisfies MePage;
