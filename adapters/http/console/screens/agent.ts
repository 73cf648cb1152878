/** *Agent*: one registration, its keys and its live tasks; a registrar disables and enables it. */

import type { RecentDenials } from '../../../../application/admin/recent-denials.ts';
import type { ListedTask, LiveTaskCount } from '../../../../application/ports/tasks.ts';
import type { Agent } from '../../../../domain/agents/agent.ts';
import { mayActNameText } from '../../../../domain/agents/may-act-name.ts';
import { shownRegistration } from '../../../../domain/agents/registration.ts';
import { formatDuration } from '../../../../domain/duration.ts';
import { type AgentId, parseAgentId } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { visibleWords } from '../../../../domain/visible.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import type { FormField } from '../../browser/pages.ts';
import { duration } from '../../browser/times.ts';
import { form, named, placeOf } from '../../browser/words.ts';
import {
  agentPath,
  approvalsPath,
  delegationPath,
  ledgerPath,
  personPath,
  screenPaths,
  stopPath,
  taskPath,
  tasksPath,
} from '../addresses.ts';
import type { ChangeByForm, Screen, ScreenContext, ShowScreen } from '../context.ts';
import { compareSection } from '../parts/comparison.ts';
import { denialsOf, readDenials } from '../parts/denials.ts';
import { notFound, readFilters, refusedFilters } from '../parts/filters.ts';
import { reasonField, typedInto } from '../parts/form-fields.ts';
import { moment } from '../parts/times.ts';
import { unknownAgent } from '../parts/unknown-names.ts';
import { amount, code, wide } from '../parts/words.ts';

interface AgentView extends Pick<ScreenContext, 'now' | 'formToken'> {
  readonly agent: Agent;
  /** The newest live ones. */
  readonly tasks: readonly ListedTask[];
  readonly live: LiveTaskCount;
  /** `undefined` for an operator who is no auditor, and reads no record. */
  readonly denials: RecentDenials | undefined;
  /** Whether tool servers may ask people about its calls. */
  readonly hasApprovals: boolean;
  /** Whether the operator is a registrar. */
  readonly mayChange: boolean;
  /** Whether the operator is a responder. */
  readonly mayStop: boolean;
  /** The texts of the refused form that disables or enables the agent. */
  readonly typed: FormField;
}

export function renderAgent(view: AgentView): Html {
  const { agent, now, formToken } = view;
  return html`<p class="id">${code(agent.agentId)}</p>
${
  agent.enabled
    ? html`<p class="banner good"><strong>Enabled.</strong> It may get tokens for people.</p>`
    : html`<p class="banner warn"><strong>Disabled.</strong> It gets no tokens. Those that it has are valid until they end where tool servers do not ask the service.${handsOver(agent) && ' The same holds for tasks that it handed to other agents.'}</p>`
}
${actions(view)}
<section aria-labelledby="registration"><h2 id="registration">Registration</h2>
<dl class="facts">
<dt>Scopes</dt><dd>${codes(agent.allowedScopes)}</dd>
<dt>Tool servers</dt><dd><ul class="plain">${agent.allowedAudiences.map((audience) => html`<li><a href="${delegationPath({ audience })}">${code(audience)}</a>${agent.highRiskAudiences.includes(audience) && ' (must ask on every call)'}</li>`)}</ul></dd>
${
  agent.mayActNames !== undefined &&
  html`<dt>At the provider</dt><dd>${codes(agent.mayActNames.map(mayActNameText))}</dd>
`
}${clientFacts(agent)}${
  agent.delegatesTo !== undefined &&
  html`<dt>May hand work to</dt><dd><ul class="inline">${agent.delegatesTo.map((agentId) => html`<li><a href="${agentPath(agentId)}">${code(agentId)}</a></li>`)}</ul></dd>
`
}<dt>Longest task</dt><dd>${duration('en', agent.maxTaskTtl)} <span class="quiet">${formatDuration(agent.maxTaskTtl)}</span></dd>
<dt>Longest token</dt><dd>${duration('en', agent.maxTokenTtl)} <span class="quiet">${formatDuration(agent.maxTokenTtl)}</span></dd>
<dt>Delegation depth</dt><dd>at most ${agent.maxDelegationDepth}</dd>
<dt>Registered</dt><dd>${moment(agent.createdAt, now)}</dd>
<dt>Changed</dt><dd>${moment(agent.updatedAt, now)}</dd>
</dl></section>
<section aria-labelledby="keys"><h2 id="keys">Keys</h2>${keysPart(agent, now)}</section>
<section aria-labelledby="tasks">${tasksPart(view)}</section>
${recordsPart(view)}
${compareSection(formToken)}`;
}

/** What the agent is as a client of `/oauth2/authorize`. */
function clientFacts({ redirectUris, publicClient, clientIdDocument, clientNames }: Agent): Insert {
  return html`${
    redirectUris !== undefined &&
    html`<dt>Answers go to</dt><dd>${codes(redirectUris)}</dd>
`
  }${
    clientIdDocument !== undefined &&
    html`<dt>Client document</dt><dd>${code(clientIdDocument)}</dd>
`
  }${
    publicClient &&
    html`<dt>Public client</dt><dd>It may redeem a code without a key. It cannot prove its name.</dd>
`
  }${
    clientNames !== undefined &&
    html`<dt>Registers as</dt><dd>${codes(clientNames)}</dd>
`
  }`;
}

/** With `Service:Delegation`: a disabled agent suspends the tasks below its own, whose agents may be enabled. */
function handsOver({ delegatesTo }: Agent): boolean {
  return delegatesTo !== undefined;
}

function codes(texts: readonly string[]): Html {
  return html`<ul class="inline">${texts.map((text) => html`<li>${code(text)}</li>`)}</ul>`;
}

function actions({ agent, mayChange, mayStop, formToken, typed }: AgentView): Insert {
  if (!mayChange && !mayStop) return undefined;
  const { agentId, enabled } = agent;
  const change = enabled ? agentScreen.forms.disableAgent : agentScreen.forms.enableAgent;
  const label = enabled ? 'Disable this agent' : 'Enable this agent';
  return html`<div class="actions">
${
  mayChange &&
  html`<details class="ask"${typed('reason') !== undefined && html` open`}><summary class="button">${label}…</summary>
<p>${enabled ? html`It is refused from its next request on${handsOver(agent) && ', and so are other agents in tasks that it handed to them'}. Its live tasks stay live: stop them too, if that is what you want.` : 'It may start and renew tasks again.'}</p>
${form(
  formToken,
  change.path,
  html`<input type="hidden" name="agent_id" value="${agentId}">${reasonField('change-reason', typed)}<p><button class="${enabled ? 'danger' : 'main'}">${label}</button></p>`,
)}</details>`
}
${mayStop && html`<p><a class="button stop" href="${stopPath({ agent_id: agentId })}">Stop all its tasks…</a></p>`}
</div>`;
}

function keysPart({ keys, keysSince }: Agent, now: Instant): Html {
  if (keys.kind === 'none') return html`<p>None are registered. It starts tasks at <code>/oauth2/authorize</code>.</p>`;
  if (keys.kind === 'remote') {
    return html`<dl class="facts"><dt>Address</dt><dd>${code(keys.uri)}</dd><dt>Named since</dt><dd>${moment(keysSince, now)}</dd></dl>
<p class="quiet">The agent’s own server publishes the keys there, and may change them at any time.</p>`;
  }
  return html`<p>Registered ${moment(keysSince, now)}.</p>
${wide(
  'Registered keys',
  html`<table><thead><tr><th scope="col">kid</th><th scope="col">Type</th><th scope="col">Algorithm</th></tr></thead>
<tbody>${keys.jwks.keys.map((key) => html`<tr><td>${text(key.kid)}</td><td>${text(key.kty)}${key.crv !== undefined && html` ${text(key.crv)}`}</td><td>${text(key.alg)}</td></tr>`)}</tbody></table>`,
)}`;
}

function text(value: unknown): Html {
  return typeof value === 'string' ? code(value) : html`<span class="quiet">not named</span>`;
}

function tasksPart({ agent: { agentId }, tasks, live, hasApprovals, now }: AgentView): Html {
  const title = html`<h2 id="tasks">Live tasks</h2>`;
  const approvals = hasApprovals && html` <a href="${approvalsPath({ agent_id: agentId })}">Approvals</a>`;
  if (tasks.length === 0) return html`<div class="heading">${title}${approvals}</div><p>It has no live task.</p>`;
  const shown = live.tasks > tasks.length ? `the newest ${tasks.length} of ${amount(live.tasks)}` : amount(live.tasks);
  return html`<div class="heading">${title}<span class="quiet">${shown}</span> <a href="${tasksPath({ agent_id: agentId })}">All</a> <a href="${delegationPath({ agent_id: agentId })}">as a picture</a>${approvals}</div>
${wide(
  'Live tasks of the agent',
  html`<table><thead><tr><th scope="col">Task</th><th scope="col">Person</th><th scope="col">Tool server</th><th scope="col">Started</th><th scope="col">Time is up</th></tr></thead>
<tbody>${tasks.map(
    ({ taskId, sponsorKey, sponsor, audience, createdAt, expiresAt }) =>
      html`<tr><td><a href="${taskPath(taskId)}">${code(taskId)}</a></td><td><a href="${personPath(sponsorKey)}">${named(sponsor)}</a></td><td>${named(placeOf(audience))}</td><td>${moment(createdAt, now)}</td><td>${moment(expiresAt, now)}</td></tr>`,
  )}</tbody></table>`,
)}`;
}

function recordsPart({ agent: { agentId }, denials }: AgentView): Insert {
  if (denials === undefined) return undefined;
  return html`<section aria-labelledby="records"><div class="heading"><h2 id="records">Records</h2><a href="${ledgerPath({ agent_id: agentId })}">All</a> <a href="${ledgerPath({ decision: 'deny', agent_id: agentId })}">All its denials</a></div>
<p>Denials in the last ${denials.minutes.length} minutes: ${denialsOf(agentId, denials)}</p></section>`;
}

/** The newest live tasks. */
const TASKS_OF_AGENT = 50;

const showAgent: ShowScreen = async (context, request) => {
  const query = readFilters(request, []);
  const agentId = parseAgentId(String(request.params.agentId));
  if (query.errors.length > 0) return refusedFilters(query.errors, screenPaths.agents);
  const [agent, tasks, live, denials] =
    agentId === undefined
      ? []
      : await Promise.all([
          context.admin.find(agentId),
          liveTasksOf(context, agentId),
          context.overview.countLive({ agentId }),
          readDenials(context, [agentId]),
        ]);
  if (agent === undefined || tasks === undefined || live === undefined) {
    const said = await unknownAgent(context, String(request.params.agentId));
    return notFound('There is no such agent', said, screenPaths.agents);
  }
  return {
    title: visibleWords(agent.displayName),
    body: renderAgent({
      agent: shownRegistration(agent, context.admin.knows),
      tasks,
      live,
      denials,
      hasApprovals: context.views.listApprovals !== undefined,
      mayChange: context.may('registrar'),
      mayStop: context.may('responder'),
      typed: typedInto(context, agent.enabled ? agentScreen.forms.disableAgent : agentScreen.forms.enableAgent),
      formToken: context.formToken,
      now: context.now,
    }),
  };
};

async function liveTasksOf({ admin }: ScreenContext, agentId: AgentId): Promise<readonly ListedTask[]> {
  const page = await admin.listTasks({ filters: { agentId, state: 'live' }, limit: TASKS_OF_AGENT, cursor: undefined });
  return page.kind === 'foreign_cursor' ? [] : page.items;
}

/** The form that disables or enables an agent. */
function changeEnabled(enabled: boolean): ChangeByForm {
  return async (context: ScreenContext, field: FormField) => {
    const agentId = parseAgentId(field('agent_id') ?? '');
    const outcome = agentId && (await context.admin.update(agentId, { enabled }));
    switch (outcome?.kind) {
      case 'updated':
        return {
          kind: 'done',
          to: agentPath(outcome.agent.agentId),
          notice: { kind: enabled ? 'agent_enabled' : 'agent_disabled', amount: 1 },
        };
      case 'invalid':
        return {
          kind: 'refused',
          status: 400,
          reason: 'invalid_fields',
          errors: outcome.errors,
          title: 'The agent was not changed',
          text: 'Its registration breaks the rules of this service as they are now.',
          back: agentPath(agentId ?? ''),
        };
      case 'kept_changing':
        return {
          kind: 'refused',
          status: 503,
          reason: 'agent_kept_changing',
          back: agentPath(agentId ?? ''),
          title: 'The agent was not changed',
          text: 'Other changes of this agent were stored first. Look at it, and try again.',
        };
      default:
        return {
          kind: 'refused',
          status: 404,
          reason: 'unknown_agent',
          title: 'There is no such agent',
          text: 'Nothing was changed.',
        };
    }
  };
}

function toAgent(field: FormField): string | undefined {
  const agentId = parseAgentId(field('agent_id') ?? '');
  return agentId && agentPath(agentId);
}

export const agentScreen = {
  path: screenPaths.agent,
  title: 'Agent',
  route: 'GET /admin/agents/{agent_id}',
  work: 'other',
  back: screenPaths.agents,
  inNavigation: false,
  show: showAgent,
  forms: {
    disableAgent: {
      path: '/agent/disable',
      route: 'PATCH /admin/agents/{agent_id}',
      work: 'revoking',
      back: toAgent,
      change: changeEnabled(false),
    },
    enableAgent: {
      path: '/agent/enable',
      route: 'PATCH /admin/agents/{agent_id}',
      work: 'revoking',
      back: toAgent,
      change: changeEnabled(true),
    },
  },
} as const satisfies Screen;
