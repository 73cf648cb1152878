/** Reads the filters of a screen from its address, as strictly as the API does. */

import type { Request } from 'express';
import type { FieldError } from '../../../../domain/field-error.ts';
import { type Html, html } from '../../browser/html.ts';
import { queryParameters } from '../../message/head.ts';
import { readQuery } from '../../message/query.ts';
import type { Shown } from '../context.ts';
import { errorList } from './words.ts';

type Reader = ReturnType<typeof readQuery>;

/** @returns also the typed texts, which the form shows again even if the filters refuse them */
export function readFilters<Name extends string>(
  { originalUrl }: Pick<Request, 'originalUrl'>,
  known: readonly Name[],
): Reader & { readonly typed: Typed<Name> } {
  const url = withoutEmpty(originalUrl, known);
  return Object.assign(readQuery(url, known), { typed: typedIn(url, known) });
}

/** Texts of a form by the names of its fields. */
export type Typed<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** A text that cannot be decoded is left out. */
export function typedIn<Name extends string>(url: string, fields: readonly Name[]): Typed<Name> {
  const isField = (name: string | undefined): name is Name => fields.some((field) => field === name);
  const given = queryParameters(url).flatMap(({ name, value }): [Name, string][] =>
    isField(name) && value !== undefined ? [[name, value]] : [],
  );
  return Object.fromEntries(given) as Typed<Name>;
}

export const AGENT_ID_SENTENCE = 'Must be an agent_id.';

/** A form sends its empty fields too: they do not filter. Other parameters stay, and are refused as the API refuses them. */
export function withoutEmpty(url: string, fields: readonly string[]): string {
  const start = url.indexOf('?') + 1;
  if (start === 0) return url;
  const given = url.slice(start).split('&');
  const kept = given.filter((pair) => !fields.some((field) => pair === field || pair === `${field}=`));
  return url.slice(0, start) + kept.join('&');
}

/** Names the fields that cannot be used, above the form that shows their texts again. */
export function problemBanner(title: string, errors: readonly FieldError[]): Html {
  return html`<div class="banner warn" role="alert"><h2>${title}</h2>
${errorList(errors)}</div>`;
}

/**
 * The page for filters that cannot be used.
 *
 * @param to the screen without filters
 * @param form shows again what was typed
 */
export function refusedFilters(errors: readonly FieldError[], to: string, form?: Html): Shown {
  return {
    status: 400,
    reason: 'invalid_fields',
    body: html`${problemBanner('These filters cannot be used', errors)}
${form}
<p><a class="button main" href="${to}">Without filters</a></p>`,
  };
}

/** The page for an id that nothing has, or no longer. @param text a sentence, or a banner that offers other names */
export function notFound(title: string, text: string | Html, to: string): Shown {
  return {
    status: 404,
    reason: 'not_found',
    title,
    body: html`${typeof text === 'string' ? html`<p>${text}</p>` : text}<p><a class="button main" href="${to}">Back</a></p>`,
  };
}
