/** The screens *Agents* and *Agent*: registrations, their keys, and their difference from a file. */

import type { ListedTask } from '../../../../application/ports/queries.ts';
import type { Agent } from '../../../../domain/agents/agent.ts';
import { formatDuration } from '../../../../domain/duration.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { secondsBetween } from '../../../../domain/instant.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { duration } from '../../browser/times.ts';
import { agentPath, delegationPath, personPath, stopPath, taskPath, withQuery } from '../addresses.ts';
import { form, reasonField } from '../layout.ts';
import { forms, readForms, screens } from '../screens.ts';
import { moment } from '../times.ts';
import { code, count, isolated, nextPage, placeOf, wide } from '../words.ts';

export interface AgentsView {
  /** In the order of their ids. */
  readonly agents: readonly Agent[];
  /** Continues after this id; `undefined` on the last page. */
  readonly nextAfter: string | undefined;
  readonly formToken: string;
  readonly now: Instant;
}

export function renderAgents({ agents, nextAfter, formToken, now }: AgentsView): Html {
  return html`${
    agents.length === 0
      ? html`<p>No agent is registered${nextAfter === undefined && ' here'}.</p>`
      : wide(
          'Registered agents',
          html`<table><thead><tr><th scope="col">Agent</th><th scope="col">State</th><th scope="col">Scopes</th><th scope="col">Tool servers</th><th scope="col">Keys</th><th scope="col">Age of keys</th><th scope="col">Changed</th></tr></thead>
<tbody>${agents.map(
            (
              agent,
            ) => html`<tr><th scope="row"><a href="${agentPath(agent.agentId)}">${isolated(agent.displayName)}</a><br>${code(agent.agentId)}</th>
<td>${stateOf(agent)}</td><td>${agent.allowedScopes.length}</td><td>${agent.allowedAudiences.length}</td><td>${keysOf(agent)}</td><td>${ageOf(agent, now)}</td><td>${moment(agent.updatedAt, now)}</td></tr>`,
          )}</tbody></table>`,
        )
  }
${nextPage('Pages of agents', nextAfter && withQuery(screens.agents.path, { after: nextAfter }))}
${compareSection(formToken)}`;
}

function stateOf({ enabled }: Agent): Html {
  return enabled ? html`<span class="yes">enabled</span>` : html`<span class="warned">disabled</span>`;
}

function keysOf({ keys }: Agent): Html {
  return keys.kind === 'remote'
    ? html`at ${isolated(new URL(keys.uri).host)}`
    : html`${count(keys.jwks.keys.length, 'key')}`;
}

function ageOf({ keysSince }: Agent, now: Instant): string {
  return duration('en', Math.max(0, Math.floor(secondsBetween(keysSince, now))));
}

export interface AgentView {
  readonly agent: Agent;
  /** The newest live ones. */
  readonly tasks: readonly ListedTask[];
  readonly hasMoreTasks: boolean;
  /** Whether the operator is a registrar. */
  readonly mayChange: boolean;
  /** Whether the operator is a responder. */
  readonly mayStop: boolean;
  readonly formToken: string;
  readonly now: Instant;
}

export function renderAgent(view: AgentView): Html {
  const { agent, now, formToken } = view;
  return html`<p class="id">${code(agent.agentId)}</p>
${
  agent.enabled
    ? html`<p class="banner good"><strong>Enabled.</strong> It may get tokens for people.</p>`
    : html`<p class="banner warn"><strong>Disabled.</strong> It gets no tokens. Those that it has are valid until they end where tool servers do not ask the service.</p>`
}
${actions(view)}
<section aria-labelledby="registration"><h2 id="registration">Registration</h2>
<dl class="facts">
<dt>Scopes</dt><dd>${codes(agent.allowedScopes)}</dd>
<dt>Tool servers</dt><dd><ul class="plain">${agent.allowedAudiences.map((audience) => html`<li><a href="${delegationPath({ audience })}">${code(audience)}</a>${agent.highRiskAudiences.includes(audience) && ' (must ask on every call)'}</li>`)}</ul></dd>
<dt>Longest task</dt><dd>${duration('en', agent.maxTaskTtl)} <span class="quiet">${formatDuration(agent.maxTaskTtl)}</span></dd>
<dt>Longest token</dt><dd>${duration('en', agent.maxTokenTtl)} <span class="quiet">${formatDuration(agent.maxTokenTtl)}</span></dd>
<dt>Delegation depth</dt><dd>at most ${agent.maxDelegationDepth}</dd>
<dt>Registered</dt><dd>${moment(agent.createdAt, now)}</dd>
<dt>Changed</dt><dd>${moment(agent.updatedAt, now)}</dd>
</dl></section>
<section aria-labelledby="keys"><h2 id="keys">Keys</h2>${keysPart(agent, now)}</section>
<section aria-labelledby="tasks"><h2 id="tasks">Live tasks</h2>${tasksPart(view)}</section>
${compareSection(formToken)}`;
}

function codes(texts: readonly string[]): Html {
  return html`<ul class="inline">${texts.map((text) => html`<li>${code(text)}</li>`)}</ul>`;
}

function actions({ agent, mayChange, mayStop, formToken }: AgentView): Insert {
  if (!mayChange && !mayStop) return undefined;
  const { agentId, enabled } = agent;
  const change = enabled ? forms.disableAgent : forms.enableAgent;
  const label = enabled ? 'Disable this agent' : 'Enable this agent';
  return html`<div class="actions">
${
  mayChange &&
  html`<details class="ask"><summary class="button">${label}…</summary>
<p>${enabled ? 'It is refused from its next request on. Its live tasks stay live: stop them too, if that is what you want.' : 'It may start and renew tasks again.'}</p>
${form(
  formToken,
  change.path,
  html`<input type="hidden" name="agent_id" value="${agentId}">${reasonField('change-reason')}<p><button class="${enabled ? 'danger' : 'main'}">${label}</button></p>`,
)}</details>`
}
${mayStop && html`<p><a class="button stop" href="${stopPath({ agent_id: agentId })}">Stop all its tasks…</a></p>`}
</div>`;
}

function keysPart({ keys, keysSince }: Agent, now: Instant): Html {
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

function tasksPart({ agent, tasks, hasMoreTasks, now }: AgentView): Html {
  if (tasks.length === 0) return html`<p>It has no live task.</p>`;
  return html`${wide(
    'Live tasks of the agent',
    html`<table><thead><tr><th scope="col">Task</th><th scope="col">Person</th><th scope="col">Tool server</th><th scope="col">Started</th><th scope="col">Time is up</th></tr></thead>
<tbody>${tasks.map(
      ({ taskId, sponsorKey, sponsor, audience, createdAt, expiresAt }) =>
        html`<tr><td><a href="${taskPath(taskId)}">${code(taskId)}</a></td><td><a href="${personPath(sponsorKey)}">${isolated(sponsor)}</a></td><td>${isolated(placeOf(audience))}</td><td>${moment(createdAt, now)}</td><td>${moment(expiresAt, now)}</td></tr>`,
    )}</tbody></table>`,
  )}
<p>${hasMoreTasks && `These are the newest ${tasks.length}. `}<a href="${delegationPath({ agent_id: agent.agentId })}">See them as a picture</a></p>`;
}

/** A browser puts a dropped file into the field. The form only reads. */
function compareSection(formToken: string): Html {
  return html`<section aria-labelledby="compare"><h2 id="compare">Compare with a file</h2>
<form class="drop" method="post" action="${readForms.compare.path}" enctype="multipart/form-data">
<input type="hidden" name="form_token" value="${formToken}">
<p class="field"><label for="compare-file">YAML file of agents: choose it, or drop it here</label>
<input id="compare-file" type="file" name="file" accept=".yaml,.yml,application/yaml,text/yaml" required></p>
<p><button class="main">Compare</button></p>
<p class="quiet">Shows what <code>mandate agent apply</code> would change. Nothing is changed, and the file is not kept.</p>
</form></section>`;
}
