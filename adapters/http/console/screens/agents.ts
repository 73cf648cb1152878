/** *Agents*: the registrations, and their difference from a file. */

import type { RecentDenials } from '../../../../application/admin/recent-denials.ts';
import type { Agent } from '../../../../domain/agents/agent.ts';
import { fieldErrors } from '../../../../domain/field-error.ts';
import { parseAgentId } from '../../../../domain/identifiers.ts';
import { type Instant, secondsBetween } from '../../../../domain/instant.ts';
import { type Html, html } from '../../browser/html.ts';
import { duration } from '../../browser/times.ts';
import { named } from '../../browser/words.ts';
import { agentPath, screenPaths, withQuery } from '../addresses.ts';
import type { ReadFile, Screen, ScreenContext, ShowScreen } from '../context.ts';
import { COMPARE_PATH, compareSection, renderComparison } from '../parts/comparison.ts';
import { denialsOf, readDenials } from '../parts/denials.ts';
import { AGENT_ID_SENTENCE, readFilters, refusedFilters } from '../parts/filters.ts';
import { suggestionList } from '../parts/suggestions.ts';
import { moment } from '../parts/times.ts';
import { unknownAgent } from '../parts/unknown-names.ts';
import { code, pages, wide } from '../parts/words.ts';

interface AgentsView extends Pick<ScreenContext, 'now' | 'formToken'> {
  /** In the order of their ids. */
  readonly agents: readonly Agent[];
  /** Of these agents; `undefined` for an operator who is no auditor, and reads no record. */
  readonly denials: RecentDenials | undefined;
  /** The id after which this page begins; `undefined` on the first page. */
  readonly after: string | undefined;
  /** The text of the search field. */
  readonly typed?: string | undefined;
  /** The warning if no registration has the name. */
  readonly unknown?: Html | undefined;
  /** Continues after this id; `undefined` on the last page. */
  readonly nextAfter: string | undefined;
}

function renderAgents({ agents, denials, after, nextAfter, typed, unknown, formToken, now }: AgentsView): Html {
  return html`${agentSearch(agents, typed)}
${
  agents.length === 0
    ? (unknown ?? html`<p>No agent is registered${after !== undefined && ' after that one'}.</p>`)
    : wide(
        'Registered agents',
        html`<table><thead><tr><th scope="col">Agent</th><th scope="col">State</th>${denials !== undefined && html`<th scope="col" class="number">Denials in ${denials.minutes.length} minutes</th>`}<th scope="col">Scopes</th><th scope="col">Tool servers</th><th scope="col">Keys</th><th scope="col">Age of keys</th><th scope="col">Changed</th></tr></thead>
<tbody>${agents.map(
          (
            agent,
          ) => html`<tr><th scope="row"><a href="${agentPath(agent.agentId)}">${named(agent.displayName)}</a><br>${code(agent.agentId)}</th>
<td>${stateOf(agent)}</td>${denials !== undefined && html`<td class="number">${denialsOf(agent.agentId, denials)}</td>`}<td>${agent.allowedScopes.length}</td><td>${agent.allowedAudiences.length}</td><td>${keysOf(agent)}</td><td>${ageOf(agent, now)}</td><td>${moment(agent.updatedAt, now)}</td></tr>`,
        )}</tbody></table>`,
      )
}
${pages('Pages of agents', {
  first: after === undefined ? undefined : screenPaths.agents,
  next: nextAfter && withQuery(screenPaths.agents, { after: nextAfter }),
})}
${compareSection(formToken)}`;
}

/** The field suggests the agents of this page. */
function agentSearch(agents: readonly Agent[], typed: string | undefined): Html {
  return html`<form class="search" method="get" action="${screenPaths.agents}" role="search"><label for="agent">Agent (agent_id)</label>
<input id="agent" name="agent_id" required maxlength="128" list="agents" autocomplete="off" autocapitalize="off" spellcheck="false" value="${typed ?? ''}"><button>Open</button></form>
${suggestionList(
  'agents',
  agents.map(({ agentId }) => agentId),
)}`;
}

function stateOf({ enabled }: Agent): Html {
  return enabled ? html`<span class="yes">enabled</span>` : html`<span class="warned">disabled</span>`;
}

function keysOf({ keys }: Agent): Html {
  if (keys.kind === 'none') return html`none`;
  return keys.kind === 'remote' ? html`at ${named(new URL(keys.uri).host)}` : html`${keys.jwks.keys.length}`;
}

function ageOf({ keysSince }: Agent, now: Instant): string {
  return duration('en', Math.max(0, Math.floor(secondsBetween(keysSince, now))));
}

/** A page has no more agents than a person can read. */
const AGENTS_PER_PAGE = 100;

const showAgents: ShowScreen = async (context, request) => {
  const query = readFilters(request, ['after', 'agent_id']);
  const after = query.read('after', parseAgentId, AGENT_ID_SENTENCE);
  const agentId = query.read('agent_id', parseAgentId, AGENT_ID_SENTENCE);
  const { now, formToken } = context;
  const typed = query.typed.agent_id;
  const isAmbiguous = after !== undefined && agentId !== undefined;
  const errors = [...query.errors, ...(isAmbiguous ? fieldErrors('agent_id', 'Must be the only filter.') : [])];
  if (errors.length > 0) return refusedFilters(errors, screenPaths.agents, agentSearch([], typed));
  if (agentId !== undefined) {
    const agent = await context.admin.find(agentId);
    const unknown = agent === undefined ? await unknownAgent(context, agentId) : undefined;
    const agents = agent === undefined ? [] : [agent];
    const denials = await denialsOfAll(context, agents);
    return { body: renderAgents({ agents, denials, after, nextAfter: undefined, typed, unknown, formToken, now }) };
  }
  const { agents, nextAfter } = await context.admin.list({ after, limit: AGENTS_PER_PAGE });
  const denials = await denialsOfAll(context, agents);
  return { body: renderAgents({ agents, denials, after, nextAfter, formToken, now }) };
};

async function denialsOfAll(context: ScreenContext, agents: readonly Agent[]): Promise<RecentDenials | undefined> {
  if (agents.length === 0) return undefined;
  return readDenials(
    context,
    agents.map(({ agentId }) => agentId),
  );
}

const compare: ReadFile = async (context, file) => ({
  body: renderComparison(await context.views.compare('The file', file)),
});

export const agentsScreen = {
  path: screenPaths.agents,
  title: 'Agents',
  route: 'GET /admin/agents',
  work: 'other',
  inNavigation: true,
  show: showAgents,
  fileForms: {
    compare: { path: COMPARE_PATH, title: 'Comparison', route: 'GET /admin/agents', work: 'other', read: compare },
  },
} as const satisfies Screen;
