/** *Ledger*: a search with the filters of `GET /audit`, its records, and their verification in the browser. An empty field of the form is ignored. */

import type { Request } from 'express';
import type { FieldError } from '../../../../domain/field-error.ts';
import { type Instant, plusSeconds, toShortText } from '../../../../domain/instant.ts';
import { type LedgerRecord, ledgerEvents } from '../../../../domain/ledger/record.ts';
import { OPERATOR_PARAMETERS, PARAMETERS, parseAuditQuestion } from '../../admin/audit-router.ts';
import { type Html, html, type Insert } from '../../browser/html.ts';
import { queryParameters } from '../../message/head.ts';
import { CURSOR, FOREIGN_CURSOR_SENTENCE } from '../../message/query.ts';
import { screenPaths } from '../addresses.ts';
import { assets } from '../assets.ts';
import type { Page, Screen, ScreenContext } from '../context.ts';
import { withoutEmpty } from '../parts/filters.ts';
import { renderRecords } from '../parts/record-lines.ts';
import { moment } from '../parts/times.ts';
import { proofs, renderVerification } from '../parts/verification.ts';

/** In the order of the form. */
const searchFields = ['from', 'to', 'event', 'decision', 'sponsor', 'agent_id', 'task_id', 'audience'] as const;
type SearchField = (typeof searchFields)[number];

export interface LedgerView {
  readonly now: Instant;
  /** What the form shows: the texts of the request. */
  readonly search: Readonly<Partial<Record<SearchField, string>>>;
  readonly outcome:
    | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] }
    | {
        readonly kind: 'page';
        readonly records: readonly LedgerRecord[];
        /** The address of the next page. */
        readonly next: string | undefined;
        /** That of the first page; `undefined` on it. */
        readonly first: string | undefined;
        readonly archivedBefore: Instant | undefined;
      };
}

export function renderLedger(view: LedgerView): Html {
  return html`<p class="lead">Every decision, oldest first. <a href="/ledger/checkpoints">Checkpoints</a> seal the records about once a minute.</p>
${searchForm(view)}
${view.outcome.kind === 'invalid' ? problems(view.outcome.errors) : found(view.outcome, view)}`;
}

function searchForm({ search, now }: LedgerView): Html {
  const since = (seconds: number) => `/ledger?from=${encodeURIComponent(toShortText(plusSeconds(now, -seconds)))}`;
  const today = toShortText(now).slice(0, '2026-11-24'.length);
  return html`<search><form class="ledger-search" method="get" action="/ledger">
${input('from', 'From (UTC)', search.from, '2026-11-24T09:30:00Z')}
${input('to', 'To (UTC)', search.to, '2026-11-24T10:00:00Z')}
${select('event', 'Event', search.event, ledgerEvents)}
${select('decision', 'Decision', search.decision, ['allow', 'deny'])}
${input('sponsor', 'Person (sub)', search.sponsor)}
${input('agent_id', 'Agent', search.agent_id)}
${input('task_id', 'Task', search.task_id)}
${input('audience', 'Tool server', search.audience)}
<p class="field"><button class="main">Search</button></p>
</form>
<ul class="inline" aria-label="Frequent searches">
<li><a href="${since(15 * 60)}">Last 15 minutes</a></li>
<li><a href="${since(3600)}">Last hour</a></li>
<li><a href="/ledger?from=${today}">Today</a></li>
<li><a href="${since(3600)}&amp;decision=deny">Denied in the last hour</a></li>
<li><a href="/ledger?from=">Everything</a></li>
</ul></search>`;
}

function input(name: SearchField, label: string, value = '', placeholder = ''): Html {
  return html`<p class="field"><label for="search-${name}">${label}</label>
<input id="search-${name}" name="${name}" value="${value}" placeholder="${placeholder}" autocomplete="off" autocapitalize="off" spellcheck="false"></p>`;
}

function select(name: SearchField, label: string, value: string | undefined, options: readonly string[]): Html {
  return html`<p class="field"><label for="search-${name}">${label}</label>
<select id="search-${name}" name="${name}"><option value="">any</option>${options.map((option) =>
    option === value ? html`<option selected>${option}</option>` : html`<option>${option}</option>`,
  )}</select></p>`;
}

function problems(errors: readonly FieldError[]): Html {
  return html`<div class="banner warn" role="alert"><h2>This search cannot be answered</h2>
<ul class="points">${errors.map(({ field, sentence }) => html`<li><code>${field}</code>: ${sentence}</li>`)}</ul></div>`;
}

function found(page: Extract<LedgerView['outcome'], { readonly kind: 'page' }>, { now }: LedgerView): Html {
  const { records, next, first, archivedBefore } = page;
  return html`${archivedBefore !== undefined && html`<p class="banner">Records before ${moment(archivedBefore, now)} have been archived: exports have them.</p>`}
<section aria-labelledby="records-title">
<div class="heading"><h2 id="records-title">Records</h2> <span class="quiet">${countOf(records.length, next)}</span></div>
${records.length > 0 && renderRecords(records, now)}
${pages(first, next)}
</section>
${renderVerification({ hasRecords: records.length > 0 })}`;
}

/** A page of a search ends after many records read, so it may be empty although more follow. */
function countOf(count: number, next: string | undefined): string {
  const shown = `${count} ${count === 1 ? 'record' : 'records'}`;
  if (next === undefined) return count === 0 ? 'None matches.' : shown;
  return count === 0 ? 'None so far: the search goes on, on the next page.' : `${shown}, and more on the next page`;
}

function pages(first: string | undefined, next: string | undefined): Insert {
  if (first === undefined && next === undefined) return undefined;
  return html`<nav class="pages" aria-label="Pages">
${first !== undefined && html`<a class="button" href="${first}">First page</a>`}
${next !== undefined && html`<a class="button" rel="next" href="${next}">Next page</a>`}
</nav>`;
}

/** Without a query: what an operator looks for first. The form shows it, and an empty field takes it away. */
const RECENT_SECONDS = 3600;

async function showLedger(context: ScreenContext, { originalUrl }: Request): Promise<Page> {
  const { now } = context;
  const recent = `/ledger?from=${encodeURIComponent(toShortText(plusSeconds(now, -RECENT_SECONDS)))}`;
  const url = originalUrl.includes('?') ? withoutEmpty(originalUrl, searchFields) : recent;
  const search = searchIn(url);
  const parsed = parseAuditQuestion(url, true);
  if (parsed.kind === 'invalid') return pageOf({ now, search, outcome: parsed });
  const answer = await context.audit.query(parsed.question);
  if (answer.kind === 'foreign_cursor') {
    return pageOf({
      now,
      search,
      outcome: { kind: 'invalid', errors: [{ field: CURSOR, sentence: FOREIGN_CURSOR_SENTENCE }] },
    });
  }
  const { records, nextCursor, archivedBefore } = answer;
  const next = nextCursor && addressOf(url, nextCursor);
  const first = parsed.question.cursor && addressOf(url);
  return pageOf({ now, search, outcome: { kind: 'page', records, next, first, archivedBefore } });
}

function pageOf(view: LedgerView): Page {
  const isInvalid = view.outcome.kind === 'invalid';
  return {
    ...(isInvalid ? { status: 400, reason: 'invalid_fields' } : {}),
    body: renderLedger(view),
    scripts: isInvalid ? [] : [assets.verify],
  };
}

/** What the form shows again. What cannot be decoded, it does not. */
function searchIn(url: string): LedgerView['search'] {
  const isField = (name: string | undefined): name is SearchField => searchFields.some((field) => field === name);
  return Object.fromEntries(
    queryParameters(url).flatMap(({ name, value }) => (isField(name) && value !== undefined ? [[name, value]] : [])),
  );
}

/** A page with the same parameters. */
function addressOf(url: string, cursor?: string): string {
  const known: readonly string[] = [...PARAMETERS, ...OPERATOR_PARAMETERS];
  const kept = queryParameters(url).flatMap(({ name, value }) =>
    name !== undefined && value !== undefined && name !== CURSOR && known.includes(name)
      ? [`${name}=${encodeURIComponent(value)}`]
      : [],
  );
  return `/ledger?${[...kept, ...(cursor === undefined ? [] : [`${CURSOR}=${cursor}`])].join('&')}`;
}

export const ledgerScreen = {
  path: screenPaths.ledger,
  title: 'Ledger',
  route: 'GET /audit',
  work: 'other',
  inNavigation: true,
  show: showLedger,
  feeds: { proofs },
} as const satisfies Screen;
