/** Words and pieces that several screens share. */

import type { FieldError } from '../../../../domain/field-error.ts';
import { visibleWords } from '../../../../domain/visible.ts';
import { type Html, html } from '../../browser/html.ts';
import { MOST_COUNTED } from '../context.ts';

export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString('en')} ${amount === 1 ? one : many}`;
}

export function code(text: string): Html {
  return html`<bdi class="code" translate="no">${visibleWords(text)}</bdi>`;
}

export function errorList(errors: readonly FieldError[]): Html {
  return html`<ul class="points">${errors.map(({ field, sentence }) => html`<li><code>${field}</code>: ${sentence}</li>`)}</ul>`;
}

/**
 * A table that may be wider than the page scrolls by itself, also by keyboard. On a phone the page says so.
 *
 * @param id keeps how far the table is scrolled when its page renews itself
 */
export function wide(label: string, table: Html, id?: string): Html {
  return html`<p class="sideways quiet">Scroll the table sideways to see all columns.</p>
<div class="scroll" role="group" aria-label="${label}" tabindex="0"${id !== undefined && html` id="${id}"`}>${table}</div>`;
}

/** The addresses of the pages beside one page of a list. */
export interface Pages {
  /** `undefined` on the first page. */
  readonly first?: string | undefined;
  /** `undefined` on the last page. */
  readonly next: string | undefined;
}

/** @param label of the navigation */
export function pages(label: string, { first, next }: Pages): Html | undefined {
  if (first === undefined && next === undefined) return undefined;
  return html`<nav class="pages" aria-label="${label}">
${first !== undefined && html`<a class="button" href="${first}">First page</a>`}
${next !== undefined && html`<a class="button" rel="next" href="${next}">Next page</a>`}
</nav>`;
}

/** `100,000 or more` where counting stopped. */
export function amount(count: number): string {
  return `${count.toLocaleString('en')}${count >= MOST_COUNTED ? ' or more' : ''}`;
}
