/** Reads the query of a request, and the parameters that pages and records share. */

import type { Response } from 'express';
import { hasControl } from '../../../domain/control-characters.ts';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import { queryParameters } from './head.ts';
import { answerInvalid } from './problem-details.ts';

interface QueryReader {
  /** The parsed parameter. `undefined` if the parameter is absent or invalid; an invalid one adds an error. */
  read<T>(name: string, parse: (text: string) => T | undefined, sentence: string): T | undefined;
  readonly errors: readonly FieldError[];
}

/**
 * Parses a query string strictly: only known parameters, each once, correctly encoded. If a mistyped or repeated filter
 * were ignored, an auditor would see other records than requested.
 *
 * @param url the request's URL, unchanged
 */
export function readQuery(url: string, known: readonly string[]): QueryReader {
  const values = new Map<string, string>();
  const errors: FieldError[] = [];
  for (const { rawName, name, value } of queryParameters(url)) {
    if (name === undefined || !known.includes(name)) {
      errors.push(...fieldErrors(name ?? rawName, 'Is not a parameter here.'));
    } else if (value === undefined) {
      errors.push(...fieldErrors(name, 'Must be percent-encoded UTF-8.'));
    } else if (values.has(name)) {
      errors.push(...fieldErrors(name, 'Must not be repeated.'));
    }
    if (name !== undefined && value !== undefined) values.set(name, value);
  }
  const read: QueryReader['read'] = (name, parse, sentence) => {
    const text = values.get(name);
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) errors.push(...fieldErrors(name, sentence));
    return value;
  };
  return { read, errors };
}

/** The maximum page size (specification "Other limits"). */
const MAX_PAGE = 1000;

export const PAGE_SIZE_SENTENCE = `Must be an integer from 1 to ${MAX_PAGE}.`;

export function parsePageSize(text: string): number | undefined {
  const size = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
  return size !== undefined && size <= MAX_PAGE ? size : undefined;
}

/** The parameter that continues a page. */
export const CURSOR = 'cursor';
export const CURSOR_SENTENCE = 'Must be the next_cursor of a page.';

export const FOREIGN_CURSOR_SENTENCE = 'Belongs to a page with other filters: send the filters of that page with it.';

export function answerForeignCursor(response: Response): void {
  answerInvalid(response, fieldErrors(CURSOR, FOREIGN_CURSOR_SENTENCE));
}

/** The size of a page, and where it continues. */
export function readPage<Cursor>(query: QueryReader, parseCursor: (text: string) => Cursor | undefined) {
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  return { limit, cursor: query.read(CURSOR, parseCursor, CURSOR_SENTENCE) };
}

/** The maximum length of a person's `sub`, and of a sponsor key. */
const MAX_SUBJECT_LENGTH = 256;
export const SUBJECT_SENTENCE = `Must be 1 to ${MAX_SUBJECT_LENGTH} characters.`;

export function parseSubject(text: string): string | undefined {
  return text.length >= 1 && text.length <= MAX_SUBJECT_LENGTH && !hasControl(text) ? text : undefined;
}

/** The length limit and characters of a `resource`. */
const AUDIENCE = /^[^\s\p{Cc}]{1,2048}$/u;
export const AUDIENCE_SENTENCE = 'Must be 1 to 2048 characters, none of them white space or a control character.';

export function parseAudience(text: string): string | undefined {
  return AUDIENCE.test(text) ? text : undefined;
}

/** The page size if the request names none. */
export const DEFAULT_PAGE = 100;

/** A sequence number in plain digits without leading zeros; `undefined` for anything else. */
export function parseOrdinal(text: string): number | undefined {
  const number = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(number) ? number : undefined;
}
