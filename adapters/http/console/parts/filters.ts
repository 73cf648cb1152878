/** Reads the filters of a screen from its address, as strictly as the API does. */

import type { Request } from 'express';
import type { FieldError } from '../../../../domain/field-error.ts';
import { html } from '../../browser/html.ts';
import { queryParameters } from '../../message/head.ts';
import { readQuery } from '../../message/query.ts';
import type { Page } from '../context.ts';

/** A form sends its empty fields too: they do not filter. */
export function readFilters({ originalUrl }: Request, known: readonly string[]): ReturnType<typeof readQuery> {
  const given = queryParameters(originalUrl).filter(({ value }) => value !== '');
  const query = new URLSearchParams();
  const isReadable = given.every(({ name, value }) => name !== undefined && value !== undefined);
  // What cannot be read is refused as the API refuses it.
  if (!isReadable) return readQuery(originalUrl, known);
  for (const { name = '', value = '' } of given) query.append(name, value);
  return readQuery(`/?${query}`, known);
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
