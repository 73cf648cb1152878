/**
 * *Now*: what runs, what is refused, who is blocked, and whether the ledger keeps up. It shows an auditor each decision, live.
 */

import type { RecentDenials } from '../../../../application/admin/recent-denials.ts';
import type { BlockCount } from '../../../../application/ports/sponsors.ts';
import type { Backlog } from '../../../../application/ports/storage.ts';
import type { ListedTask, LiveTaskCount } from '../../../../application/ports/tasks.ts';
import {
  type Instant,
  plusSeconds,
  secondsBetween,
  toMillisecondText,
  toShortText,
} from '../../../../domain/instant.ts';
import { holderOf, streamRecords } from '../../admin/audit-stream.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { FORM_PAGE_HEADERS } from '../../browser/page-headers.ts';
import { duration } from '../../browser/times.ts';
import { answerInvalid } from '../../message/problem-details.ts';
import { readQuery } from '../../message/query.ts';
import { approvalsPath, ledgerPath, screenPaths, withQuery } from '../addresses.ts';
import { assets } from '../assets.ts';
import {
  type AnswerScript,
  MOST_COUNTED,
  type OverviewSurface,
  type Screen,
  type ScreenContext,
  type ShowScreen,
} from '../context.ts';
import { denialsByAgent, readDenials } from '../parts/denials.ts';
import { readFilters, refusedFilters } from '../parts/filters.ts';
import { taskTable } from '../parts/task-table.ts';
import { clock, moment } from '../parts/times.ts';
import { amount, wide } from '../parts/words.ts';

interface NowView extends Pick<OverviewSurface, 'hasSink' | 'sealsEvery'> {
  readonly now: Instant;
  readonly live: LiveTaskCount;
  /** The newest live tasks. */
  readonly newest: readonly ListedTask[];
  readonly blocked: BlockCount;
  readonly backlog: Backlog;
  /** How many approvals wait for people; `undefined` where tool servers may ask for none. */
  readonly waiting?: number | undefined;
  /** `undefined` for an operator who is no auditor, and reads no record. */
  readonly denials: RecentDenials | undefined;
  readonly mayStop: boolean;
}

/** @param stream the table of the live stream, for an auditor */
export function renderNow(view: NowView, stream: Insert): Html {
  return html`<div data-renew-from="${nowScreen.feeds.now.path}">
<p class="banner warn" id="offline" role="status" hidden>This page could not be renewed: what it shows is old. It tries again every 15 seconds.</p>
${figures(view)}
${stream}
${newestTasks(view)}
</div>
<template id="over"><p class="banner warn" role="alert">Your session has ended, so this page no longer shows its content.</p>
<p><a class="button main" href="/sign-in">Sign in again</a></p></template>`;
}

/** The parts that renewal.js replaces. */
function renderRenewed(view: NowView): Html {
  return html`${figures(view)}
${newestTasks(view)}`;
}

function figures(view: NowView): Html {
  const { denials, now } = view;
  return html`<div id="figures" data-renewed>
<p class="quiet">As of ${time(now, clock(now))}</p>
<div class="figures">
${liveFigure(view)}
${blockedFigure(view)}
${sealingFigure(view)}
${outboxFigure(view)}
${waitingFigure(view)}</div>
${
  denials !== undefined &&
  html`${denialsSection(denials, now)}
${denialsByAgent(denials)}`
}
</div>`;
}

function newestTasks(view: NowView): Html {
  const more = view.newest.length < view.live.tasks;
  return html`<section id="newest-tasks" data-renewed aria-labelledby="newest"><div class="heading"><h2 id="newest">Newest live tasks</h2>${more && html` <a href="${screenPaths.tasks}">All live tasks</a>`}</div>
${taskTable(view.newest, view)}
</section>`;
}

function time(at: Instant, words: string): Html {
  return html`<time datetime="${toMillisecondText(at)}">${words}</time>`;
}

function figure(id: string, label: string, value: Insert, more: Insert, isLate = false): Html {
  return html`<section class="figure${isLate ? ' late' : ''}" aria-labelledby="${id}"><h2 id="${id}">${label}</h2>
<p class="value">${value}</p><div class="quiet">${more}</div></section>`;
}

function liveFigure({ live, now }: NowView): Html {
  const { tasks, lastExpiry } = live;
  const more = lastExpiry === undefined ? 'Nothing runs.' : html`the last ends ${moment(lastExpiry, now)}`;
  return figure('live', 'Live tasks', html`<a href="${screenPaths.tasks}">${amount(tasks)}</a>`, more);
}

function blockedFigure({ blocked: { people, bySource } }: NowView): Html {
  const sources = Object.entries(bySource).map(
    ([source, blocks]) =>
      html`<li><a href="${withQuery(screenPaths.people, { source })}">${source} ${blocks.toLocaleString('en')}</a></li>`,
  );
  const isCut = Object.values(bySource).reduce((sum, blocks) => sum + blocks, 0) >= MOST_COUNTED;
  return figure(
    'blocked',
    'Blocked people',
    html`<a href="${screenPaths.people}">${people.toLocaleString('en')}${isCut && ' or more'}</a>`,
    sources.length === 0 ? 'No person is blocked.' : html`<ul class="inline">${sources}</ul>`,
  );
}

const LATE_SECONDS = 5 * 60;

function sealingFigure({ backlog: { sealing }, sealsEvery, now, denials }: NowView): Html {
  const { oldestUnsealedAt: oldest, unsealed, newestCheckpoint } = sealing;
  const isAuditor = denials !== undefined;
  const id = newestCheckpoint && `checkpoint ${newestCheckpoint.checkpointId}`;
  const more = html`${amount(unsealed)} unsealed${newestCheckpoint !== undefined && html`; ${isAuditor ? html`<a href="${screenPaths.checkpoints}">${id}</a>` : id} ${moment(newestCheckpoint.closedAt, now)}`}`;
  const value = recordsFrom(oldest, age(oldest, now, 'all sealed'), isAuditor);
  return figure(
    'sealing',
    'Oldest unsealed record',
    value,
    more,
    isLate(oldest, now, Math.max(LATE_SECONDS, 2 * sealsEvery)),
  );
}

/** An auditor can read the records from that time on. */
function recordsFrom(oldest: Instant | undefined, value: Insert, isAuditor: boolean): Insert {
  if (oldest === undefined || !isAuditor) return value;
  return html`<a href="${ledgerPath({ from: toMillisecondText(oldest), order: 'oldest' })}">${value}</a>`;
}

function outboxFigure({ backlog: { outbox }, hasSink, now, denials }: NowView): Html {
  const more =
    hasSink || outbox.waiting > 0
      ? `${amount(outbox.waiting)} waiting, ${amount(outbox.failing)} refused before`
      : 'no sink is configured';
  return figure(
    'outbox',
    'Oldest undelivered record',
    recordsFrom(outbox.oldestAt, age(outbox.oldestAt, now, 'none waits'), denials !== undefined),
    more,
    isLate(outbox.oldestAt, now, LATE_SECONDS),
  );
}

function waitingFigure({ waiting }: NowView): Insert {
  if (waiting === undefined) return undefined;
  const more = waiting === 0 ? 'No action waits for a yes.' : 'actions that people were asked about';
  const link = html`<a href="${approvalsPath({ state: 'pending' })}">${amount(waiting)}</a>`;
  return html`${figure('waiting', 'Waiting approvals', link, more)}
`;
}

function isLate(oldest: Instant | undefined, now: Instant, seconds: number): boolean {
  return oldest !== undefined && secondsBetween(oldest, now) > seconds;
}

function age(oldest: Instant | undefined, now: Instant, none: string): Insert {
  if (oldest === undefined) return none;
  return time(oldest, duration('en', Math.max(0, Math.floor(secondsBetween(oldest, now)))));
}

/** The newest minute first: a phone shows the first columns only. Each figure links to the records that it counts. */
function denialsSection({ minutes, reasons, completeFrom }: RecentDenials, now: Instant): Html {
  const minute = (at: Instant) => toMillisecondText(at).slice('2026-11-24T'.length, '2026-11-24T09:30'.length);
  const [from = now] = minutes;
  const link = (amount: number, reason: string | undefined, since: Instant, until?: Instant) =>
    html`<a href="${ledgerPath({ from: toShortText(since), ...(until !== undefined && { to: toShortText(until) }), decision: 'deny', ...(reason !== undefined && { reason }) })}">${amount.toLocaleString('en')}</a>`;
  const figureOf = (amount: number, reason: string | undefined, nth: number) => {
    const at = minutes[nth] ?? now;
    const isIncomplete = completeFrom !== undefined && at < completeFrom;
    if (amount === 0) return isIncomplete ? html`<td class="number">?</td>` : html`<td class="number zero">0</td>`;
    // Records of a clock that is ahead count to the last minute.
    const until = nth === minutes.length - 1 ? undefined : plusSeconds(at, 60);
    return html`<td class="number">${link(amount, reason, at, until)}${isIncomplete && ' or more'}</td>`;
  };
  const newestFirst = [...minutes.keys()].reverse();
  const body =
    reasons.length === 0
      ? html`<p class="quiet">Nothing was refused in the last ${minutes.length} minutes.</p>`
      : wide(
          'Denials a minute, by reason',
          html`<table class="counts"><thead><tr><th scope="col">Reason</th><th scope="col" class="number">Sum</th>${newestFirst.map((nth) => html`<th scope="col" class="number">${minute(minutes[nth] ?? now)}</th>`)}</tr></thead>
<tbody>${reasons.map(
            ({ reason, counts, total }) =>
              html`<tr><th scope="row"><code>${reason ?? 'no reason'}</code></th><td class="number">${link(total, reason, from)}</td>${newestFirst.map((nth) => figureOf(counts[nth] ?? 0, reason, nth))}</tr>`,
          )}</tbody></table>`,
          'denials-table',
        );
  return html`<section aria-labelledby="denials"><div class="heading"><h2 id="denials">Denials a minute, by reason</h2><span class="quiet">UTC, newest first, until ${minute(now)}</span></div>
${completeFrom !== undefined && html`<p class="banner warn">There are more denials than are counted at once. Those from ${minute(completeFrom)} on are complete, earlier ones are not.</p>`}
${body}</section>`;
}

/** The newest live tasks that *Now* shows. */
const NEWEST = 20;

const showNow: ShowScreen = async (context, request) => {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, screenPaths.now);
  const isAuditor = context.may('auditor');
  const body = renderNow(await readNow(context), isAuditor && renderLiveRecords());
  return { body, scripts: isAuditor ? [assets.renewal, assets.stream] : [assets.renewal] };
};

/** The parts of *Now* that its script renews. */
const renewNow: AnswerScript = async (context, request, response) => {
  const query = readQuery(request.originalUrl, []);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  response.set(FORM_PAGE_HEADERS).send(renderRenewed(await readNow(context)).toString());
};

async function readNow(context: ScreenContext): Promise<NowView> {
  const { admin, views, overview, now, may } = context;
  const [live, newest, blocked, backlog, waiting, denials] = await Promise.all([
    overview.countLive(undefined),
    admin.listTasks({ filters: { state: 'live' }, limit: NEWEST, cursor: undefined }),
    views.ports.sponsors.countBlocks(MOST_COUNTED),
    overview.backlog(),
    overview.countWaiting?.(),
    readDenials(context),
  ]);
  return {
    now,
    live,
    blocked,
    backlog,
    waiting,
    denials,
    hasSink: overview.hasSink,
    sealsEvery: overview.sealsEvery,
    mayStop: may('responder'),
    newest: newest.kind === 'page' ? newest.items : [],
  };
}

export function renderLiveRecords(): Html {
  return html`<section class="live-records" id="stream" data-stream="${nowScreen.feeds.stream.path}" aria-labelledby="stream-title" hidden>
<div class="heading"><h2 id="stream-title">Decisions, live</h2> <span id="stream-state" role="status" class="quiet">Connecting …</span>
<button class="small" type="button">Pause</button> <a href="${screenPaths.ledger}">Ledger</a></div>
<div class="records"><p class="record-line names" aria-hidden="true"><span>Number</span><span>Time (UTC)</span><span>Event</span><span>Decision</span><span>Agent, for person</span></p>
<ol></ol></div>
</section>`;
}

/** The table of records begins with so many. */
const FIRST_RECORDS = 20;

const stream: AnswerScript = async ({ audit, holder, lasts }, request, response) => {
  const { streaming } = audit;
  if (streaming === undefined) throw new Error('the console runs without the stream of records');
  await streamRecords(streaming, request, response, {
    holder: holderOf('console', holder),
    lasts,
    more: FIRST_RECORDS,
  });
};

export const nowScreen = {
  path: screenPaths.now,
  title: 'Now',
  route: 'GET /admin/tasks',
  work: 'revoking',
  inNavigation: true,
  show: showNow,
  feeds: {
    now: { path: '/now', route: 'GET /admin/tasks', work: 'other', renews: false, answer: renewNow },
    stream: { path: '/stream', route: 'GET /audit/stream', work: 'other', renews: false, answer: stream },
  },
} as const satisfies Screen;
