/** *Task*: the timeline of one task, the origin of its scope, and its records. */

import type { ShownTask } from '../../../../application/ports/tasks.ts';
import type { Agent } from '../../../../domain/agents/agent.ts';
import { redirectHost } from '../../../../domain/agents/redirect-uri.ts';
import type { ApprovalState } from '../../../../domain/approvals/approval.ts';
import { parseTaskId } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { isRecorded } from '../../../../domain/ledger/compared.ts';
import { type LedgerRecord, presentRecord } from '../../../../domain/ledger/record.ts';
import type { ShownAct } from '../../../../domain/operators/operator-act.ts';
import { CLOCKS_DIFFER, type EndReason } from '../../../../domain/tasks/lifetime.ts';
import { parentOf } from '../../../../domain/tasks/task.ts';
import { type ClientLabel, provesName } from '../../../../domain/tasks/task-authorization.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { atMost } from '../../browser/times.ts';
import { named, placeOf, statedByAgent } from '../../browser/words.ts';
import {
  agentPath,
  delegationPath,
  ledgerPath,
  personPath,
  recordPath,
  screenPaths,
  stopPath,
  taskPath,
} from '../addresses.ts';
import type { ApprovalsOfTask, OverviewSurface, Screen, ShowScreen } from '../context.ts';
import { actLines, actsOf } from '../parts/acts.ts';
import { altered } from '../parts/altered.ts';
import { approvalsSection, MOST_APPROVALS } from '../parts/approvals.ts';
import { notFound, readFilters, refusedFilters } from '../parts/filters.ts';
import { recordsOf } from '../parts/records-of-task.ts';
import { type ScopeOrigins, scopeTable } from '../parts/scope-table.ts';
import { MOST_IN_TREE, type ShownTree, treeSection } from '../parts/task-tree.ts';
import { drawTimeline, MOST_BARS } from '../parts/timeline-bars.ts';
import { moment } from '../parts/times.ts';
import { unknownTask } from '../parts/unknown-names.ts';
import { visibleJson } from '../parts/visible-json.ts';
import { code, count, wide } from '../parts/words.ts';
import { type Timeline, type TimelineEvent, timelineOf } from '../timeline.ts';

export interface TaskView extends ScopeOrigins, Pick<OverviewSurface, 'statusLists'> {
  readonly task: ShownTask;
  /** `undefined` if it has been removed. */
  readonly agent: Agent | undefined;
  readonly timeline: Timeline;
  /** Oldest first; `undefined` without the role to read them. */
  readonly records: readonly LedgerRecord[] | undefined;
  /** The number of its records that were read. */
  readonly recordCount: number;
  readonly hasMoreRecords: boolean;
  /** The acts that may have ended it, for an auditor. */
  readonly endedBy: readonly ShownAct[];
  /** `undefined` where tool servers may ask for none. */
  readonly approvals: ApprovalsOfTask | undefined;
  /** `undefined` without `Service:Delegation:Enabled`. */
  readonly tree?: ShownTree | undefined;
  readonly mayStop: boolean;
  readonly now: Instant;
}

export function renderTask(view: TaskView): Html {
  const { task, timeline, now } = view;
  const end = task.state.kind === 'live' ? undefined : task.state.at;
  return html`<p class="id">${code(task.taskId)}</p>
${standing(view)}
<section aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
${drawTimeline(timeline, end, now)}
${unshown(timeline)}
${events(view)}
</section>
${treeSection(view.tree, task.taskId)}<section aria-labelledby="scope"><h2 id="scope">Where its scope came from</h2>
${scopeTable(view)}
</section>
${approvalsSection(view.approvals, now)}<section aria-labelledby="facts"><h2 id="facts">As it is stored</h2>
${facts(view)}
</section>
${rawRecords(view)}`;
}

/** An operator's kill switch, or block of the person. */
const BY_OPERATORS: ReadonlySet<string> = new Set<EndReason>(['operator_kill_switch', 'sponsor_blocked']);

function standing(view: TaskView): Html {
  const { task, now, mayStop } = view;
  const { state } = task;
  if (state.kind === 'live') {
    return html`<div class="banner good"><p><strong>Live.</strong> Its time is up ${moment(task.expiresAt, now)}.</p>
<p>${worksUntil(view)}</p></div>
${mayStop && html`<p><a class="button stop" href="${stopPath({ task_id: task.taskId })}">Stop this task…</a></p>`}`;
  }
  const why = state.kind === 'revoked' ? html`Revoked: ${code(state.reason)},` : 'Its time was up';
  const isHidden = view.records === undefined && state.kind === 'revoked' && BY_OPERATORS.has(state.reason);
  return html`<div class="banner warn"><p><strong>Ended.</strong> ${why} ${moment(state.at, now)}.</p>
${actLines(view.endedBy, now)}${isHidden && html`<p>Auditors can read who ended it, and why.</p>`}
<p>${worksUntil(view)}</p></div>`;
}

/** How long tool servers go on accepting its tokens, by how they check them. */
function worksUntil({ task, agent, timeline, statusLists, now }: TaskView): Insert {
  const { worksUntil: works } = timeline;
  const isLive = task.state.kind === 'live';
  if (works === undefined) return isLive ? 'None of its tokens is valid now.' : 'None of its tokens outlived it.';
  const exactly =
    !works.isExact && ' (by the registration as it is now: it was changed after the token was issued, or is gone)';
  const isHighRisk = agent?.highRiskAudiences.includes(task.audience) === true;
  const asking = isHighRisk
    ? 'This tool server must ask on every call, so it refuses them at once.'
    : 'Tool servers that ask the service on every call refuse them at once.';
  const lists =
    statusLists !== undefined &&
    task.status !== undefined &&
    ` Those that read status lists refuse them within ${atMost('en', statusLists)}.`;
  const over = works.at <= now;
  const verb = isLive
    ? 'If it is stopped now, its last token works'
    : over
      ? 'Its last token worked'
      : 'Its last token works';
  return html`${verb} until ${moment(works.at, now)}${exactly} where tokens are checked without asking. ${CLOCKS_DIFFER} ${asking}${lists}`;
}

function unshown({ unshown: tokens, tokens: bars }: Timeline): Insert {
  const hidden = tokens + Math.max(0, bars.length - MOST_BARS);
  return (
    hidden > 0 &&
    html`<p class="quiet">${count(hidden, 'token')} between ${hidden === 1 ? 'has' : 'have'} no bar: most renewals are only counted.</p>`
  );
}

function events({ timeline, task, now, records, approvals }: TaskView): Html {
  return html`<ol class="events">${timeline.events.map(
    (event) =>
      html`<li class="${event.kind}">${moment(event.at, now)} ${eventWords(event, approvals)}${
        event.seq !== undefined && html` <a href="${recordPath(task.taskId, event.seq)}">record ${event.seq}</a>`
      }</li>`,
  )}</ol>
${records === undefined && html`<p class="quiet">Refusals, and each recorded renewal, are in the ledger, which auditors read.</p>`}`;
}

function eventWords(
  { kind, scope, reason, count: amount, other = '', approval }: TimelineEvent,
  approvals: ApprovalsOfTask | undefined,
): Html {
  const scoped = scope !== undefined && html` with ${code(scope)}`;
  switch (kind) {
    case 'authorized':
      return html`<strong>The person’s answer was redeemed</strong>`;
    case 'offered':
      return html`<strong>Offered</strong> to ${code(other)}${scoped}`;
    case 'taken':
      return html`<strong>Handed over</strong> by the agent of ${code(other)}`;
    case 'issued':
      return html`<strong>Issued</strong>${scoped}`;
    case 'renewed':
      return html`<strong>Renewed</strong>${scoped}`;
    case 'narrowed':
      return html`<strong>Narrowed</strong> to ${code(scope ?? '')}`;
    case 'renewals':
      return html`<strong>Renewed</strong>, ${count(amount ?? 0, 'time')} by then`;
    case 'denied':
      return html`<strong>Refused</strong>: ${code(reason ?? '')}${amount !== undefined && `, ${count(amount, 'time')}`}${scope !== undefined && html`, asked for ${code(scope)}`}`;
    case 'token_revoked':
      return html`<strong>One token revoked</strong>: ${code(reason ?? '')}`;
    case 'approval':
      return html`<strong>${approval && APPROVAL_WORDS[approval.state]}</strong>: ${approval && approvalLink(approval.approvalId, approvals)}${reason !== undefined && html`, ${code(reason)}`}`;
    case 'ended':
      return html`<strong>Ended</strong>: ${code(reason ?? '')}`;
    case 'expires':
      return html`Its time is up`;
  }
}

const APPROVAL_WORDS: Readonly<Record<ApprovalState, string>> = {
  pending: 'Asked the person',
  granted: 'The person said yes',
  refused: 'The person said no',
  used: 'The yes was used',
  expired: 'The question expired',
  withdrawn: 'The question was withdrawn',
};

/** Its title leads to it below. The id stands for words that are not shown. */
function approvalLink(id: string, approvals: ApprovalsOfTask | undefined): Html {
  const found = approvals?.newest.find(({ row }) => row.approvalId === id);
  if (found === undefined) return code(id);
  return html`<a href="#${id}">${isRecorded(found) ? named(found.row.title) : code(id)}</a>`;
}

function facts({ task, agent, now, recordCount, hasMoreRecords, records }: TaskView): Html {
  const { sponsor, sponsorKey, agentId, displayName = agentId, audience, purpose } = task;
  const parentTaskId = parentOf(task);
  return html`<dl class="facts">
<dt>Person</dt><dd><a href="${personPath(sponsorKey)}">${named(sponsor)}</a>${sponsorKey !== sponsor && html` <span class="quiet">key ${code(sponsorKey)}</span>`}</dd>
<dt>Agent</dt><dd>${agent === undefined ? html`${named(displayName)} (removed)` : html`<a href="${agentPath(agentId)}">${named(displayName)}</a>${!agent.enabled && ' (disabled)'}`} <span class="quiet">${code(agentId)}</span></dd>
<dt>Tool server</dt><dd><a href="${delegationPath({ audience })}">${named(placeOf(audience))}</a> <span class="quiet">${code(audience)}</span></dd>
${
  purpose !== undefined &&
  html`<dt>Purpose</dt><dd>${statedByAgent(purpose.words)}<p class="quiet">The agent’s words. They are not checked.</p></dd>
`
}${
  altered(task, 'purpose') &&
  html`<dt>Purpose</dt><dd>${altered(task, 'purpose')}</dd>
`
}${startedByPerson(task)}<dt>Started</dt><dd>${moment(task.createdAt, now)}</dd>
<dt>${task.state.kind === 'revoked' ? 'Would have ended' : 'Time is up'}</dt><dd>${moment(task.expiresAt, now)}</dd>
<dt>Renewals</dt><dd>${task.renewals.toLocaleString('en')}${task.renewedAt !== undefined && html`, the last ${moment(task.renewedAt, now)}`}</dd>
<dt>Delegation depth</dt><dd>${task.delegationDepth}${parentTaskId !== undefined && html`, below <a href="${taskPath(parentTaskId)}">${code(parentTaskId)}</a>`}</dd>
<dt>Records</dt><dd>${count(recordCount, 'record')}${hasMoreRecords && ' and more'}${records === undefined && html` <span class="quiet">(auditors read them)</span>`}</dd>
</dl>`;
}

/** Nothing for a task of an exchange. */
function startedByPerson({ authorization }: ShownTask): Insert {
  if (authorization === undefined) return undefined;
  const { requestId, client, redirectUri } = authorization;
  return html`<dt>Started by</dt><dd>The person. The answer went to ${answerPlace(redirectUri)}. <span class="quiet">${code(redirectUri)}, ${CLIENTS[client]}, request ${code(requestId)}</span>${
    !provesName(authorization) &&
    html`<p class="warned">The program cannot prove its name: it needs no key to redeem a code.</p>`
  }</dd>
`;
}

const CLIENTS: Readonly<Record<ClientLabel, string>> = {
  key: 'a client with a key',
  public: 'a public client',
  document: 'a client with a document',
};

function answerPlace(redirectUri: string): Html {
  const to = redirectHost(redirectUri);
  switch (to.kind) {
    case 'host':
      return named(to.host);
    case 'this_computer':
      return html`a program on the person’s computer`;
    case 'scheme':
      return html`a program on the person’s device (${code(`${to.scheme}:`)})`;
  }
}

function rawRecords({ records, task, hasMoreRecords }: TaskView): Insert {
  if (records === undefined) return undefined;
  return html`<section aria-labelledby="records"><h2 id="records">Records</h2>
${wide(
  'Records of the task',
  html`<table><thead><tr><th scope="col">Number</th><th scope="col">Event</th><th scope="col">Decision</th><th scope="col">Sealed by</th><th scope="col">Proof</th></tr></thead>
<tbody>${records.toReversed().map(
    ({
      seq,
      event,
      decision,
      reason,
      checkpoint,
    }) => html`<tr><td>${seq}</td><td>${code(event)}</td><td>${decision ?? ''}${reason !== undefined && html` ${code(reason)}`}</td>
<td>${checkpoint === undefined ? html`<span class="quiet">not yet</span>` : `checkpoint ${checkpoint}`}</td><td><a href="${recordPath(task.taskId, seq)}">Record ${seq}</a></td></tr>`,
  )}</tbody></table>`,
)}
<p>${hasMoreRecords && html`These are the oldest ${records.length.toLocaleString('en')}. <a href="${ledgerPath({ task_id: task.taskId })}">The newest are in the ledger.</a> `}<a href="${ledgerPath({ task_id: task.taskId, order: 'oldest' })}">Verify them in the ledger</a></p>
<details class="more"><summary>As JSON, as <code>GET /audit</code> shows them</summary>
${records.map((record) => html`<pre tabindex="0" aria-label="Record ${record.seq}">${visibleJson(presentRecord(record))}</pre>`)}
</details>
</section>`;
}

const showTask: ShowScreen = async (context, request) => {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, screenPaths.delegation);
  const taskId = parseTaskId(String(request.params.taskId));
  const shown = taskId && (await context.admin.showTask(taskId));
  if (shown === undefined) {
    const said = await unknownTask(context, String(request.params.taskId));
    return notFound('There is no such task', said, screenPaths.tasks);
  }
  const { task } = shown;
  const [agent, records, approvals, tree] = await Promise.all([
    context.admin.find(task.agentId),
    recordsOf(context, task.taskId),
    context.views.approvalsOf?.(task.taskId, MOST_APPROVALS),
    context.admin.taskTree?.({ taskId: task.taskId, limit: MOST_IN_TREE, cursor: undefined }),
  ]);
  const end = records?.find(({ event, decision }) => event === 'task.revoked' && decision === 'allow');
  const ttl = { registered: agent?.maxTokenTtl, since: agent?.updatedAt, longest: context.views.longestTokenTtl };
  return {
    body: renderTask({
      task,
      agent,
      records,
      recordCount: shown.records.length,
      hasMoreRecords: shown.nextCursor !== undefined,
      timeline: timelineOf(
        task,
        ttl,
        records,
        context.now,
        approvals?.newest.filter(isRecorded).map(({ row }) => row),
      ),
      statusLists: context.overview.statusLists,
      endedBy: end === undefined ? [] : await actsOf(context, end),
      approvals,
      tree: tree?.kind === 'page' ? { tasks: tree.items, hasMore: tree.nextCursor !== undefined } : undefined,
      mayStop: context.may('responder'),
      now: context.now,
    }),
  };
};

export const taskScreen = {
  path: screenPaths.task,
  title: 'Task',
  route: 'GET /admin/tasks/{task_id}',
  work: 'other',
  inNavigation: false,
  show: showTask,
} as const satisfies Screen;
