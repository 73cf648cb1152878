/** How pages show whether an agent may hand work to other agents, and the buttons by which the person changes it. */

import type { MyAgent } from '../../../application/me/my-agents.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import { agentName } from './agent-name.ts';
import { DELEGATION_SIGN_IN } from './cookies.ts';
import { form } from './frame.ts';
import { AGENT_FIELD } from './task-parts.ts';
import type { Texts } from './texts/en.ts';
import type { PersonView } from './view.ts';

export const REFUSE_PATH = '/me/delegation/refuse';
export const ALLOW_PATH = '/me/delegation/allow';

type DelegatingAgent = Pick<MyAgent, 'agentId' | 'displayName'>;

export interface MayAllow {
  /** Whether the person signed in lately enough to allow it again. */
  readonly mayAllow: boolean;
}

/** Of one agent. */
export interface DelegationView extends MayAllow {
  readonly isRefused: boolean;
  /** Whether the person could allow it again after a new sign-in. */
  readonly isAllowable: boolean;
}

/** @param back fields of the form that lead back to the page */
export function delegationOfAgent(
  view: PersonView,
  { isRefused, mayAllow, isAllowable }: DelegationView,
  agent: DelegatingAgent,
  words: Texts,
  back: Html,
): Html {
  const { delegation } = words;
  const { agentId } = agent;
  const choice = isRefused
    ? html`<p>${delegation.isRefused}</p>
<p class="quiet">${delegation.refusalMeans}</p>
${allowButton(view, { mayAllow }, agent, words, back)}`
    : html`<p class="quiet">${delegation.refusalMeans} ${isAllowable ? delegation.allowedAfterSignIn : delegation.neverAllowedAgain}</p>
${form(view, REFUSE_PATH, html`${back}<button id="refuse-${agentId}" name="${AGENT_FIELD}" value="${agentId}">${delegation.refuse}</button>`)}`;
  return html`<section aria-labelledby="delegation">
<div class="heading"><h2 id="delegation">${delegation.title}</h2></div>
<div class="card">${choice}</div>
</section>`;
}

/** The hidden end of a name of a control, of which a page has one for each agent. */
export function ofAgent(agent: DelegatingAgent, words: Texts): Html {
  return html`<span class="hidden">: ${agentName(agent, words)}</span>`;
}

/** A link to a new sign-in in place of the button, if the last one is too old: a form cannot lead to the provider. */
export function allowButton(
  view: Pick<PersonView, 'base' | 'formToken'>,
  { mayAllow }: MayAllow,
  agent: DelegatingAgent,
  words: Texts,
  back?: Insert,
): Html {
  const { agentId } = agent;
  const label = html`${words.delegation.allow}${ofAgent(agent, words)}`;
  if (!mayAllow) {
    return html`<a class="button" id="allow-${agentId}" href="${view.base}${DELEGATION_SIGN_IN}">${label}</a>`;
  }
  const button = html`<button id="allow-${agentId}" name="${AGENT_FIELD}" value="${agentId}">${label}</button>`;
  return form(view, ALLOW_PATH, html`${back}${button}`);
}
