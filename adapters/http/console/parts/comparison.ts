/** The difference between the agents that a file declares and the registered ones. */

import type { ComparedDeclaration } from '../../../../application/admin/compare-declarations.ts';
import type { Registration } from '../../../../domain/agents/agent.ts';
import { mayActNameText } from '../../../../domain/agents/may-act-name.ts';
import type { RegistrationField } from '../../../../domain/agents/registration-draft.ts';
import { formatDuration } from '../../../../domain/duration.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { named } from '../../browser/words.ts';
import { agentPath, screenPaths } from '../addresses.ts';
import type { Comparison } from '../context.ts';
import { code, count, wide } from './words.ts';

export const COMPARE_PATH = '/agent/compare';

/** A short file can have thousands of problems: the page shows the first ones. */
const MOST_PROBLEMS = 100;

export function renderComparison(comparison: Comparison): Html {
  if (comparison.kind === 'too_much') {
    return html`<p class="banner warn">The file has more than this page reads. Nothing was compared. Compare parts of it, or use <code>mandate agent apply --dry-run</code>.</p>
<ul class="points"><li>${named(comparison.problem)}</li></ul>
${back()}`;
  }
  if (comparison.kind === 'wrong') {
    const { problems } = comparison;
    const more = problems.length - MOST_PROBLEMS;
    return html`<p class="banner warn">The file is not what <code>mandate agent apply</code> reads. Nothing was compared.</p>
<ul class="points">${problems.slice(0, MOST_PROBLEMS).map((problem) => html`<li>${named(problem)}</li>`)}</ul>
${more > 0 && html`<p>${count(more, 'more problem')}.</p>`}
${back()}`;
  }
  const { agents } = comparison;
  const changed = agents.filter(({ stored, fields }) => stored !== undefined && fields.length > 0).length;
  const added = agents.filter(({ stored }) => stored === undefined).length;
  const same = agents.length - changed - added;
  return html`<p class="summary"><strong>${count(changed, 'agent')}</strong> ${changed === 1 ? 'differs' : 'differ'}, <strong>${added}</strong> ${added === 1 ? 'is' : 'are'} not registered, <strong>${same}</strong> ${same === 1 ? 'is' : 'are'} the same. Nothing was changed.</p>
${agents.map(difference)}
${back()}`;
}

function back(): Html {
  return html`<p><a class="button main" href="${screenPaths.agents}">Back to the agents</a></p>`;
}

function difference(compared: ComparedDeclaration): Html {
  const { registration, stored, fields, errors } = compared;
  const { agentId, displayName } = registration;
  const name =
    stored === undefined ? named(displayName) : html`<a href="${agentPath(agentId)}">${named(stored.displayName)}</a>`;
  return html`<section class="card" aria-label="${agentId}"><h2>${name} <span class="quiet">${code(agentId)}</span></h2>
${stored === undefined ? html`<p>Not registered: the file would register it.</p>` : fields.length === 0 ? html`<p>The same, as far as the file says.</p>` : fieldTable(registration, stored, fields)}
${refused(errors)}</section>`;
}

function fieldTable(declared: Registration, stored: Registration, fields: readonly RegistrationField[]): Html {
  return wide(
    `Differences of ${declared.agentId}`,
    html`<table class="differences"><thead><tr><th scope="col">Field</th><th scope="col">Registered</th><th scope="col">In the file</th></tr></thead>
<tbody>${fields.map((field) => html`<tr><th scope="row">${code(field)}</th><td>${shownValue(stored, field, declared)}</td><td>${shownValue(declared, field, stored)}</td></tr>`)}</tbody></table>`,
  );
}

function refused(errors: ComparedDeclaration['errors']): Insert {
  if (errors.length === 0) return undefined;
  return html`<p class="banner warn">This service would refuse it:</p>
<ul class="points">${errors.map(({ field, sentence }) => html`<li>${code(field)}: ${sentence}</li>`)}</ul>`;
}

/** @param other of a list, what only this side has is marked */
function shownValue(side: Registration, field: RegistrationField, other: Registration): Html {
  const [value, others] = [read(side, field), read(other, field)];
  if (value === undefined) return html`<span class="quiet">not set</span>`;
  if (typeof value === 'string') return code(value);
  const inOther = new Set(typeof others === 'string' ? [] : others);
  return html`<ul class="plain">${value.map((item) =>
    inOther.has(item)
      ? html`<li>${code(item)}</li>`
      : html`<li><mark>${code(item)}</mark> <span class="quiet">only here</span></li>`,
  )}</ul>`;
}

function read(registration: Registration, field: RegistrationField): string | readonly string[] | undefined {
  const { keys } = registration;
  switch (field) {
    case 'agent_id':
      return registration.agentId;
    case 'display_name':
      return registration.displayName;
    case 'sponsor_required':
      return String(registration.sponsorRequired);
    case 'allowed_scopes':
      return registration.allowedScopes;
    case 'allowed_audiences':
      return registration.allowedAudiences;
    case 'max_task_ttl':
      return formatDuration(registration.maxTaskTtl);
    case 'max_token_ttl':
      return formatDuration(registration.maxTokenTtl);
    case 'max_delegation_depth':
      return String(registration.maxDelegationDepth);
    case 'high_risk_audiences':
      return registration.highRiskAudiences;
    case 'jwks_uri':
      return keys.kind === 'remote' ? keys.uri : undefined;
    case 'jwks':
      return keys.kind === 'inline' ? keys.jwks.keys.map((key) => JSON.stringify(key)) : undefined;
    case 'may_act_names':
      return registration.mayActNames?.map(mayActNameText);
    case 'redirect_uris':
      return registration.redirectUris;
    case 'public_client':
      return String(registration.publicClient);
    case 'client_id_document':
      return registration.clientIdDocument;
    case 'client_names':
      return registration.clientNames;
    case 'delegates_to':
      return registration.delegatesTo;
    case 'enabled':
      return String(registration.enabled);
  }
}

/** A browser puts a dropped file into the field. The form only reads. */
export function compareSection(formToken: string): Html {
  return html`<section aria-labelledby="compare"><h2 id="compare">Compare with a file</h2>
<form class="drop" method="post" action="${COMPARE_PATH}" enctype="multipart/form-data">
<input type="hidden" name="form_token" value="${formToken}">
<p class="field"><label for="compare-file">YAML file of agents: choose it, or drop it here</label>
<input id="compare-file" type="file" name="file" accept=".yaml,.yml,application/yaml,text/yaml" required></p>
<p><button class="main">Compare</button></p>
<p class="quiet">Shows what <code>mandate agent apply</code> would change. Nothing is changed, and the file is not kept.</p>
</form></section>`;
}
