/** Pieces that pages share. */

import { visibleWords } from '../../../domain/visible.ts';
import { type Html, html } from './html.ts';

/**
 * Words from elsewhere. Hidden characters are shown by their numbers. Text from right to left is isolated, so that it does not
 * reorder the words beside it.
 */
export function isolated(text: string): Html {
  return html`<bdi>${visibleWords(text)}</bdi>`;
}

/** A name in a text that a browser may translate: a translated name would be another one. */
export function named(text: string): Html {
  return html`<bdi translate="no">${visibleWords(text)}</bdi>`;
}

/**
 * What an agent stated, quoted: a stranger chose these words. The quotation is a block, so it looks like no word of the page.
 */
export function statedByAgent(words: string): Html {
  return html`<blockquote class="stated">${isolated(words)}</blockquote>`;
}

/** The host is what people recognise. The path distinguishes two tool servers of one host. */
export function placeOf(audience: string): string {
  const { host, pathname, search } = new URL(audience);
  const path = `${pathname}${search}`;
  return path === '/' ? host : `${host}${path}`;
}

/**
 * A form that changes something. It has the form token, so it works from a page of this session only.
 *
 * @param id by which fields outside of the form name it
 */
export function form(formToken: string, path: string, fields: Html, id?: string): Html {
  return html`<form method="post" action="${path}"${id !== undefined && html` id="${id}"`}><input type="hidden" name="form_token" value="${formToken}">${fields}</form>`;
}
