/** What the lists of tasks and of approvals share: the form of their filters, the sentence above a page, and its links. */

import { type Html, html } from '../../browser/html.ts';
import { CURSOR } from '../../message/query.ts';
import { withQuery } from '../addresses.ts';
import { type Suggestions, suggestions } from './suggestions.ts';
import { count, pages } from './words.ts';

export interface Listing {
  /** The address without filters. */
  readonly path: string;
  /** `tasks`, `approvals`. */
  readonly plural: string;
  /** The fields of the form before the state: name, label, and the list that the browser suggests. */
  readonly fields: readonly (readonly [name: string, label: string, list: keyof Suggestions])[];
  readonly states: readonly string[];
  /** Whether the form may leave the state open. */
  readonly anyState: boolean;
}

type Typed = Readonly<Partial<Record<string, string>>>;

export function listForm(
  { path, plural, fields, states, anyState }: Listing,
  filters: Typed,
  suggested: Suggestions,
): Html {
  return html`<form class="filters" method="get" action="${path}" role="search" aria-label="Which ${plural}">
${fields.map(([name, label, list], nth) => html`${nth > 0 && '\n'}<p class="field"><label for="filter-${name}">${label}</label><input id="filter-${name}" name="${name}" value="${filters[name] ?? ''}" list="${list}" autocomplete="off" autocapitalize="off" spellcheck="false"></p>`)}
<p class="field"><label for="filter-state">State</label><select id="filter-state" name="state">${anyState && html`<option value="">any</option>`}${states.map((state) => html`<option value="${state}"${filters.state === state && html` selected`}>${state}</option>`)}</select></p>
<p class="field"><button class="main">Show</button></p>
</form>
${suggestions(
  suggested,
  fields.map(([, , list]) => list),
)}`;
}

/** A page of a list. */
interface Page {
  readonly isFirst: boolean;
  /** `undefined` on the last page. */
  readonly nextCursor: string | undefined;
}

/**
 * Says how many a page has. One page of several must not look like the total.
 *
 * @param what one of them, such as `live task`
 */
export function listSummary(amount: number, what: string, { isFirst, nextCursor }: Page): Html {
  const hasMore = nextCursor !== undefined;
  // A page of a search ends after many rows read, so it may be empty although more follow.
  if (amount === 0 && hasMore) return html`None so far: the search goes on, on the next page.`;
  if (!isFirst)
    return html`<strong>${count(amount, `older ${what}`)}</strong>.${hasMore && ' More are on the next page.'}`;
  if (hasMore) return html`<strong>The newest ${count(amount, what)}</strong>. More are on the next page.`;
  return html`<strong>${count(amount, what)}</strong>, the newest first.`;
}

export function listLinks(
  { path, plural }: Pick<Listing, 'path' | 'plural'>,
  filters: Typed,
  { isFirst, nextCursor }: Page,
): Html | undefined {
  return pages(`Pages of ${plural}`, {
    first: isFirst ? undefined : withQuery(path, filters),
    next: nextCursor && withQuery(path, { ...filters, [CURSOR]: nextCursor }),
  });
}
