/**
 * *Ledger*: a search with the filters of `GET /audit` and two more, its records, the newest first, and their verification in
 * the browser. An empty field of the form is ignored.
 */

import { denialReasons } from '../../../../domain/denial.ts';
import type { FieldError } from '../../../../domain/field-error.ts';
import { type Instant, plusSeconds, toShortText } from '../../../../domain/instant.ts';
import { type LedgerRecord, ledgerEvents } from '../../../../domain/ledger/record.ts';
import { CONSOLE_PARAMETERS, OPERATOR_PARAMETERS, PARAMETERS, parseAuditQuestion } from '../../admin/audit-router.ts';
import { type Html, html } from '../../browser/html.ts';
import { duration } from '../../browser/times.ts';
import { queryParameters } from '../../message/head.ts';
import { CURSOR, FOREIGN_CURSOR_SENTENCE } from '../../message/query.ts';
import { type LedgerSearch, ledgerPath, screenPaths } from '../addresses.ts';
import { assets } from '../assets.ts';
import type { OverviewSurface, Screen, ScreenContext, ShowScreen } from '../context.ts';
import { problemBanner, typedIn, withoutEmpty } from '../parts/filters.ts';
import { renderRecords } from '../parts/record-lines.ts';
import { readSuggestions, type Suggestions, suggestionList, suggestions } from '../parts/suggestions.ts';
import { moment } from '../parts/times.ts';
import { proofs, renderVerification } from '../parts/verification.ts';
import { pages } from '../parts/words.ts';

/** In the order of the form. */
const searchFields = [
  'from',
  'to',
  'event',
  'decision',
  'reason',
  'sponsor',
  'agent_id',
  'task_id',
  'audience',
  'order',
] as const satisfies readonly (keyof LedgerSearch)[];
type SearchField = (typeof searchFields)[number];

export interface LedgerView extends Pick<OverviewSurface, 'sealsEvery'> {
  readonly now: Instant;
  /** The texts of the request, which the form shows again. */
  readonly search: LedgerSearch;
  readonly suggested: Suggestions;
  readonly outcome:
    | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] }
    | {
        readonly kind: 'page';
        readonly records: readonly LedgerRecord[];
        /** The address of the next page. */
        readonly next: string | undefined;
        /** The address of the first page; `undefined` on the first page. */
        readonly first: string | undefined;
        readonly archivedBefore: Instant | undefined;
      };
}

export function renderLedger(view: LedgerView): Html {
  return html`<p class="lead">Every decision. <a href="${screenPaths.checkpoints}">Checkpoints</a> seal new records, about ${duration('en', view.sealsEvery)} apart.</p>
${searchForm(view)}
${view.outcome.kind === 'invalid' ? problems(view.outcome.errors) : found(view.outcome, view)}`;
}

function searchForm({ search, now, suggested }: LedgerView): Html {
  const since = (seconds: number) => toShortText(plusSeconds(now, -seconds));
  const frequent = [
    ['Last 15 minutes', { from: since(15 * 60) }],
    ['Last hour', { from: since(3600) }],
    ['Today', { from: toShortText(now).slice(0, '2026-11-24'.length) }],
    ['Denied in the last hour', { from: since(3600), decision: 'deny' }],
    ['Everything', { from: '' }],
  ] as const;
  return html`<search><form class="filters" method="get" action="${screenPaths.ledger}">
${input('from', 'From (UTC)', search, { placeholder: '2026-11-24T09:30:00Z' })}
${input('to', 'To (UTC)', search, { placeholder: '2026-11-24T10:00:00Z' })}
${select('event', 'Event', search.event, ['any', ...ledgerEvents])}
${select('decision', 'Decision', search.decision, ['any', 'allow', 'deny'])}
${input('reason', 'Reason', search, { list: 'reasons' })}
${input('sponsor', 'Person (sub)', search, { list: 'people' })}
${input('agent_id', 'Agent', search, { list: 'agents' })}
${input('task_id', 'Task', search, { list: 'tasks' })}
${input('audience', 'Tool server', search, { list: 'audiences' })}
${select('order', 'Order', search.order, ['newest', 'oldest'])}
<p class="field"><button class="main">Search</button></p>
</form>
${suggestions(suggested, ['people', 'agents', 'tasks', 'audiences'])}
${suggestionList('reasons', denialReasons)}
<ul class="inline" aria-label="Frequent searches">
${frequent.map(([words, to]) => html`<li><a href="${ledgerPath(to)}">${words}</a></li>`)}
</ul></search>`;
}

function input(
  name: SearchField,
  label: string,
  search: LedgerSearch,
  { placeholder = '', list }: { readonly placeholder?: string; readonly list?: string },
): Html {
  return html`<p class="field"><label for="search-${name}">${label}</label>
<input id="search-${name}" name="${name}" value="${search[name] ?? ''}" placeholder="${placeholder}"${list !== undefined && html` list="${list}"`} autocomplete="off" autocapitalize="off" spellcheck="false"></p>`;
}

/** @param options the first one, which the form does not send, is the default */
function select(name: SearchField, label: string, value: string | undefined, options: readonly string[]): Html {
  const optionOf = (option: string, nth: number) => {
    const sent = nth === 0 ? '' : option;
    return html`<option value="${sent}"${sent !== '' && sent === value && html` selected`}>${option}</option>`;
  };
  return html`<p class="field"><label for="search-${name}">${label}</label>
<select id="search-${name}" name="${name}">${options.map(optionOf)}</select></p>`;
}

function problems(errors: readonly FieldError[]): Html {
  return problemBanner('This search cannot be answered', errors);
}

function found(page: Extract<LedgerView['outcome'], { readonly kind: 'page' }>, { now }: LedgerView): Html {
  const { records, next, first, archivedBefore } = page;
  return html`${archivedBefore !== undefined && html`<p class="banner">Records before ${moment(archivedBefore, now)} have been archived: exports have them.</p>`}
<section aria-labelledby="records-title">
<div class="heading"><h2 id="records-title">Records</h2> <span class="quiet">${countOf(records.length, next)}</span></div>
${records.length > 0 && renderRecords(records, now)}
${pages('Pages of records', { first, next })}
</section>
${renderVerification({ hasRecords: records.length > 0 })}`;
}

/** A page of a search ends after many records read, so it may be empty although more follow. */
function countOf(count: number, next: string | undefined): string {
  const shown = `${count} ${count === 1 ? 'record' : 'records'}`;
  if (next === undefined) return count === 0 ? 'None matches.' : shown;
  return count === 0 ? 'None so far: the search goes on, on the next page.' : `${shown}, and more on the next page`;
}

/** Without a query the last hour is shown. The form has it as `from`, and an empty field removes it. */
const RECENT_SECONDS = 3600;

const showLedger: ShowScreen = async (context, { originalUrl }) => {
  const { now } = context;
  const { sealsEvery } = context.overview;
  const recent = ledgerPath({ from: toShortText(plusSeconds(now, -RECENT_SECONDS)) });
  const url = originalUrl.includes('?') ? withoutEmpty(originalUrl, searchFields) : recent;
  const [suggested, outcome] = await Promise.all([readSuggestions(context), outcomeOf(context, url)]);
  const isInvalid = outcome.kind === 'invalid';
  return {
    ...(isInvalid ? { status: 400, reason: 'invalid_fields' } : {}),
    body: renderLedger({ now, sealsEvery, search: typedIn(url, searchFields), suggested, outcome }),
    scripts: isInvalid ? [] : [assets.verify],
  };
};

async function outcomeOf({ audit }: ScreenContext, url: string): Promise<LedgerView['outcome']> {
  const parsed = parseAuditQuestion(url, { hasOperators: true, isConsole: true });
  if (parsed.kind === 'invalid') return parsed;
  const answer = await audit.query(parsed.question);
  if (answer.kind === 'foreign_cursor') {
    return { kind: 'invalid', errors: [{ field: CURSOR, sentence: FOREIGN_CURSOR_SENTENCE }] };
  }
  const { records, nextCursor, archivedBefore } = answer;
  const next = nextCursor && addressOf(url, nextCursor);
  const first = parsed.question.cursor && addressOf(url);
  return { kind: 'page', records, next, first, archivedBefore };
}

/** A page with the same parameters. */
function addressOf(url: string, cursor?: string): string {
  const known: readonly string[] = [...PARAMETERS, ...OPERATOR_PARAMETERS, ...CONSOLE_PARAMETERS];
  const kept = queryParameters(url).flatMap(({ name, value }) =>
    name !== undefined && value !== undefined && name !== CURSOR && known.includes(name)
      ? [`${name}=${encodeURIComponent(value)}`]
      : [],
  );
  return `${screenPaths.ledger}?${[...kept, ...(cursor === undefined ? [] : [`${CURSOR}=${cursor}`])].join('&')}`;
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
