/** Reads the filters of a screen from its address, as strictly as the API does. */

import type { Request } from 'express';
import type { FieldError } from '../../../../domain/field-error.ts';
import { html } from '../../browser/html.ts';
import { readQuery } from '../../message/query.ts';
import type { Page } from '../context.ts';

export function readFilters({ originalUrl }: Request, known: readonly string[]): ReturnType<typeof readQuery> {
  return readQuery(withoutEmpty(originalUrl, known), known);
}

/** A form sends its empty fields too: they do not filter. Other parameters stay, and are refused as the API refuses them. */
export function withoutEmpty(url: string, fields: readonly string[]): string {
  const start = url.indexOf('?') + 1;
  if (start === 0) return url;
  const given = url.slice(start).split('&');
  const kept = given.filter((pair) => !fields.some((field) => pair === field || pair === `${field}=`));
  return url.slice(0, start) + kept.join('&');
}

/** @param to the screen without filters */
export function refusedFilters(errors: readonly FieldError[], to: string): Page {
  return {
    status: 400,
    reason: 'invalid_fields',
    title: 'These filters cannot be used',
    body: html`<ul class="points">${errors.map(({ field, sentence }) => html`<li><code>${field}</code>: ${sentence}</li>`)}</ul>
<p><a class="button main" href="${to}">Without filters</a></p>`,
  };
}

/** A page about what does not exist, or no longer. */
export function notFound(title: string, text: string, to: string): Page {
  return {
    status: 404,
    reason: 'not_found',
    title,
    body: html`<p>${text}</p><p><a class="button main" href="${to}">Back</a></p>`,
  };
}
