/** *Now*: what runs, what is refused, who is blocked, and whether the ledger keeps up. */

import type { RecentDenials } from '../../../../application/admin/recent-denials.ts';
import type { BlockCount, ListedTask, LiveTaskCount } from '../../../../application/ports/queries.ts';
import type { Backlog } from '../../../../application/ports/storage.ts';
import { type Instant, secondsBetween, toMillisecondText } from '../../../../domain/instant.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { duration } from '../../browser/times.ts';
import { MOST_COUNTED } from '../overview-surface.ts';
import { feeds } from '../screens.ts';
import { clock, moment } from '../times.ts';
import { taskTable } from './task-table.ts';

export interface NowView {
  readonly now: Instant;
  readonly live: LiveTaskCount;
  /** The newest live tasks. */
  readonly newest: readonly ListedTask[];
  readonly blocked: BlockCount;
  readonly backlog: Backlog;
  readonly hasSink: boolean;
  /** `undefined` for an operator who is no auditor. */
  readonly denials: RecentDenials | undefined;
  readonly mayStop: boolean;
}

/** @param stream the place of the stream of decisions, for an auditor */
export function renderNow(view: NowView, stream: Insert): Html {
  return html`<div data-renew-from="${feeds.now.path}">
<p class="banner warn" id="offline" role="status" hidden>This page could not be renewed: what it shows is old. It tries again every 15 seconds.</p>
${figures(view)}
${stream}
${newestTasks(view)}
</div>
<template id="over"><p class="banner warn" role="alert">Your session has ended, so this page no longer shows its content.</p>
<p><a class="button main" href="/sign-in">Sign in again</a></p></template>`;
}

/** The parts that renewal.js replaces. */
export function renderRenewed(view: NowView): Html {
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
</div>
${denials !== undefined && denialsSection(denials, now)}
</div>`;
}

function newestTasks(view: NowView): Html {
  return html`<section id="newest-tasks" data-renewed aria-labelledby="newest"><div class="heading"><h2 id="newest">Newest live tasks</h2></div>
${taskTable(view.newest, view)}
</section>`;
}

function time(at: Instant, words: string): Html {
  return html`<time datetime="${toMillisecondText(at)}">${words}</time>`;
}

function figure(id: string, label: string, value: Insert, more: Insert, isLate = false): Html {
  return html`<section class="figure${isLate ? ' late' : ''}" aria-labelledby="${id}"><h2 id="${id}">${label}</h2>
<p class="value">${value}</p><p class="quiet">${more}</p></section>`;
}

/** `100,000 or more` where counting stopped. */
export function amount(count: number): string {
  return `${count.toLocaleString('en')}${count >= MOST_COUNTED ? ' or more' : ''}`;
}

function liveFigure({ live, now }: NowView): Html {
  const { tasks, lastExpiry } = live;
  const more = lastExpiry === undefined ? 'Nothing runs.' : html`the last ends ${moment(lastExpiry, now)}`;
  return figure('live', 'Live tasks', amount(tasks), more);
}

function blockedFigure({ blocked: { people, bySource } }: NowView): Html {
  const sources = Object.entries(bySource).map(([source, blocks]) => `${source} ${blocks}`);
  const isCut = Object.values(bySource).reduce((sum, blocks) => sum + blocks, 0) >= MOST_COUNTED;
  return figure(
    'blocked',
    'Blocked people',
    html`<a href="/people">${people.toLocaleString('en')}${isCut && ' or more'}</a>`,
    sources.join(' · ') || 'by no source',
  );
}

/** A minute is the usual interval of checkpoints. */
const LATE_SECONDS = 5 * 60;

function sealingFigure({ backlog: { sealing }, now }: NowView): Html {
  const { oldestUnsealedAt: oldest, unsealed, newestCheckpoint } = sealing;
  const more = html`${amount(unsealed)} unsealed${newestCheckpoint !== undefined && html`; checkpoint ${newestCheckpoint.checkpointId} ${moment(newestCheckpoint.closedAt, now)}`}`;
  return figure('sealing', 'Oldest unsealed record', age(oldest, now, 'all sealed'), more, isLate(oldest, now));
}

function outboxFigure({ backlog: { outbox }, hasSink, now }: NowView): Html {
  const more =
    hasSink || outbox.waiting > 0
      ? `${amount(outbox.waiting)} waiting, ${amount(outbox.failing)} refused before`
      : 'no sink is configured';
  return figure(
    'outbox',
    'Oldest undelivered record',
    age(outbox.oldestAt, now, 'none waits'),
    more,
    isLate(outbox.oldestAt, now),
  );
}

function isLate(oldest: Instant | undefined, now: Instant): boolean {
  return oldest !== undefined && secondsBetween(oldest, now) > LATE_SECONDS;
}

function age(oldest: Instant | undefined, now: Instant, none: string): Insert {
  if (oldest === undefined) return none;
  return time(oldest, duration('en', Math.max(0, Math.floor(secondsBetween(oldest, now)))));
}

/** The newest minute first: a phone shows the first columns only. */
function denialsSection({ minutes, reasons, isCut }: RecentDenials, now: Instant): Html {
  const minute = (at: Instant) => toMillisecondText(at).slice('2026-11-24T'.length, '2026-11-24T09:30'.length);
  const body =
    reasons.length === 0
      ? html`<p class="quiet">Nothing was refused in the last ${minutes.length} minutes.</p>`
      : html`<div class="scroll" id="denials-table" role="group" aria-labelledby="denials" tabindex="0"><table class="counts"><thead><tr><th scope="col">Reason</th><th scope="col" class="number">Sum</th>${minutes.toReversed().map((at) => html`<th scope="col" class="number">${minute(at)}</th>`)}</tr></thead>
<tbody>${reasons.map(({ reason, counts, total }) => html`<tr><th scope="row"><code>${reason}</code></th><td class="number">${total}</td>${counts.toReversed().map((count) => html`<td class="number${count === 0 ? ' zero' : ''}">${count}</td>`)}</tr>`)}</tbody></table></div>`;
  return html`<section aria-labelledby="denials"><div class="heading"><h2 id="denials">Denials a minute, by reason</h2><span class="quiet">UTC, newest first, until ${minute(now)}</span></div>
${isCut && html`<p class="banner warn">There are more denials than are counted here: the newest minutes are too low.</p>`}
${body}</section>`;
}
