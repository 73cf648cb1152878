/** Pieces that pages share. */

import { type Html, html } from './html.ts';

/** A name may hold bidirectional controls: it is isolated, so that it does not reorder the words beside it. */
export function isolated(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** A name in a text that a browser may translate: a translated name would be another one. */
export function named(text: string): Html {
  return html`<bdi translate="no">${text}</bdi>`;
}

/**
 * What an agent stated, quoted: a stranger chose these words. A bidirectional control can close a `bdi`, but has no effect
 * beyond its block. So the quotation is a block.
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

/** A form that changes something. It has the form token, so it works from a page of this session only. */
export function form(formToken: string, path: string, fields: Html): Html {
  return html`<form method="post" action="${path}"><input type="hidden" name="form_token" value="${formToken}">${fields}</form>`;
}
