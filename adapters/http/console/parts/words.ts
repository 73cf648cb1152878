/** Words and pieces that several screens share. */

import { type Html, html } from '../../browser/html.ts';
import { MOST_COUNTED } from '../context.ts';

export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString('en')} ${amount === 1 ? one : many}`;
}

export function code(text: string): Html {
  return html`<bdi class="code">${text}</bdi>`;
}

/** A table that may be wider than the page scrolls by itself, also by keyboard. */
export function wide(label: string, table: Html): Html {
  return html`<div class="wide" role="region" aria-label="${label}" tabindex="0">${table}</div>`;
}

/** @param label of the navigation */
export function nextPage(label: string, to: string | undefined): Html | undefined {
  return to === undefined
    ? undefined
    : html`<nav class="pages" aria-label="${label}"><a class="button" href="${to}">Next page</a></nav>`;
}

/** `100,000 or more` where counting stopped. */
export function amount(count: number): string {
  return `${count.toLocaleString('en')}${count >= MOST_COUNTED ? ' or more' : ''}`;
}
